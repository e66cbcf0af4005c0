# Written by ascgrad. To draw it again: gnuplot -c FILE.gp svg >FILE.svg, or png, or pdf
if (!exists('format')) { format = exists('ARGC') && ARGC > 0 ? ARG1 : 'png' }
svg = format eq 'svg'
if (svg) { set terminal svg size 1340, 680 enhanced standalone background 'white' font 'sans-serif,10.5' }
if (format eq 'pdf') { set terminal pdfcairo size 13.4000in, 6.8000in enhanced font 'sans-serif,6' linewidth 0.75 }
if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo size 1340, 680 enhanced font 'sans-serif,8' }
if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal png truecolor size 1340, 680 enhanced font 'sans-serif,8' }
set encoding utf8
set multiplot
set tics nomirror out scale 0.4
set key noenhanced
set label 'builtin: the weights ω of the biases' at screen 0.00896, screen 0.97353 left noenhanced font ',11'
$m0 << END
2560 0.103222 0.09845 0.107993
5120 0.11345 0.101076 0.125825
7680 0.118449 0.101942 0.134957
10240 0.116551 0.0981683 0.134933
12800 0.111851 0.0932018 0.1305
15360 0.103132 0.0806081 0.125657
17920 0.0970745 0.0719091 0.12224
20480 0.0874058 0.0594138 0.115398
23040 0.0825085 0.0504844 0.114533
25600 0.0804527 0.0452085 0.115697
28160 0.0793677 0.0421119 0.116623
30720 0.0785675 0.0405293 0.116606
33280 0.0783751 0.0396438 0.117106
35840 0.0783696 0.0390117 0.117727
38400 0.0782874 0.0383609 0.118214
END
$m1 << END
2560 0.0998991 0.0956461 0.104152
5120 0.101537 0.090666 0.112407
7680 0.104395 0.0874817 0.121308
10240 0.108782 0.0841702 0.133394
12800 0.110367 0.0755841 0.145149
15360 0.112631 0.0660961 0.159166
17920 0.114106 0.0564571 0.171755
20480 0.112693 0.0494247 0.175961
23040 0.112079 0.0435526 0.180606
25600 0.110487 0.0374634 0.183511
28160 0.109436 0.0336375 0.185234
30720 0.108667 0.0313845 0.185949
33280 0.107583 0.0286821 0.186484
35840 0.106644 0.0269581 0.18633
38400 0.106378 0.0260491 0.186708
END
$m2 << END
2560 0.10116 0.0971735 0.105147
5120 0.104024 0.0932114 0.114837
7680 0.105701 0.091607 0.119796
10240 0.108729 0.0952832 0.122175
12800 0.11476 0.0989747 0.130545
15360 0.119803 0.0979462 0.141659
17920 0.123412 0.0947951 0.152029
20480 0.126721 0.0954199 0.158023
23040 0.128308 0.0981721 0.158444
25600 0.132111 0.10089 0.163332
28160 0.135201 0.103601 0.166801
30720 0.136333 0.104821 0.167845
33280 0.137772 0.105906 0.169638
35840 0.13896 0.106949 0.170972
38400 0.139639 0.107509 0.171769
END
set lmargin at screen 0.05970
set rmargin at screen 0.30597
set tmargin at screen 0.91176
set bmargin at screen 0.58824
set title 'ascender' noenhanced offset 0, -0.5
set xlabel 'tokens' noenhanced
set ylabel 'ω' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror out norotate autofreq
set format x '% h'
set format y '% h'
set xrange [*:*]
set yrange [*:*]
set key at screen 0.92537, screen 0.91176 left top Left reverse vertical maxrows 40 samplen 3
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.2667
plot $m0 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#004488' notitle, \
     $m0 using 1:2 with linespoints linewidth 1.5 dashtype 1 linecolor rgb '#004488' pointtype 7 pointsize 0.6 pointnumber 8 title 'align', \
     $m1 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#ddaa33' notitle, \
     $m1 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#ddaa33' pointtype 9 pointsize 0.6 pointnumber 8 title 'sep', \
     $m2 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#bb5566' notitle, \
     $m2 using 1:2 with linespoints linewidth 1.5 dashtype 4 linecolor rgb '#bb5566' pointtype 5 pointsize 0.6 pointnumber 8 title 'coh'
unset label
unset logscale
$m3 << END
2560 0 0 0
5120 0 0 0
7680 0 0 0
10240 0 0 0
12800 0 0 0
15360 0 0 0
17920 0 0 0
20480 0 0 0
23040 0 0 0
25600 0 0 0
28160 0 0 0
30720 0 0 0
33280 0 0 0
35840 0 0 0
38400 0 0 0
END
$m4 << END
2560 0.0999259 0.095646 0.104206
5120 0.10193 0.0910115 0.112849
7680 0.105 0.0880207 0.121979
10240 0.109171 0.0845712 0.133771
12800 0.110149 0.0757939 0.144505
15360 0.112264 0.0662945 0.158234
17920 0.113721 0.0577661 0.169677
20480 0.11206 0.0516557 0.172465
23040 0.110436 0.0457774 0.175094
25600 0.108408 0.0398539 0.176962
28160 0.107317 0.0361334 0.178501
30720 0.106638 0.0339906 0.179286
33280 0.105467 0.031126 0.179808
35840 0.104533 0.0293959 0.179671
38400 0.104231 0.0284576 0.180005
END
$m5 << END
2560 0.101212 0.0972585 0.105166
5120 0.104236 0.0936232 0.114849
7680 0.105994 0.092178 0.11981
10240 0.108873 0.0955301 0.122216
12800 0.114649 0.0992884 0.130009
15360 0.118746 0.0976451 0.139846
17920 0.122062 0.0936579 0.150467
20480 0.125043 0.0942316 0.155854
23040 0.12586 0.0969405 0.15478
25600 0.129356 0.0998737 0.158839
28160 0.13217 0.102057 0.162283
30720 0.133332 0.103081 0.163582
33280 0.134676 0.103784 0.165568
35840 0.135889 0.104748 0.16703
38400 0.136564 0.105297 0.167831
END
set lmargin at screen 0.36567
set rmargin at screen 0.61194
set tmargin at screen 0.91176
set bmargin at screen 0.58824
set title 'no-alignment' noenhanced offset 0, -0.5
set xlabel 'tokens' noenhanced
set ylabel 'ω' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror out norotate autofreq
set format x '% h'
set format y '% h'
set xrange [*:*]
set yrange [*:*]
unset key
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.2667
plot $m3 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#004488' notitle, \
     $m3 using 1:2 with linespoints linewidth 1.5 dashtype 1 linecolor rgb '#004488' pointtype 7 pointsize 0.6 pointnumber 8 notitle, \
     $m4 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#ddaa33' notitle, \
     $m4 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#ddaa33' pointtype 9 pointsize 0.6 pointnumber 8 notitle, \
     $m5 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#bb5566' notitle, \
     $m5 using 1:2 with linespoints linewidth 1.5 dashtype 4 linecolor rgb '#bb5566' pointtype 5 pointsize 0.6 pointnumber 8 notitle
unset label
unset logscale
$m6 << END
2560 0.103301 0.0985556 0.108047
5120 0.113736 0.101509 0.125963
7680 0.118943 0.102602 0.135285
10240 0.117237 0.099069 0.135404
12800 0.112294 0.0935159 0.131073
15360 0.104667 0.0821285 0.127205
17920 0.0993033 0.0738568 0.12475
20480 0.0901544 0.0610367 0.119272
23040 0.0861882 0.0528917 0.119485
25600 0.085133 0.0486801 0.121586
28160 0.0844318 0.0460048 0.122859
30720 0.0840514 0.0450895 0.123013
33280 0.0843122 0.0449396 0.123685
35840 0.0845939 0.0445687 0.124619
38400 0.0847449 0.0441183 0.125372
END
$m7 << END
2560 0 0 0
5120 0 0 0
7680 0 0 0
10240 0 0 0
12800 0 0 0
15360 0 0 0
17920 0 0 0
20480 0 0 0
23040 0 0 0
25600 0 0 0
28160 0 0 0
30720 0 0 0
33280 0 0 0
35840 0 0 0
38400 0 0 0
END
$m8 << END
2560 0.101183 0.0972038 0.105163
5120 0.103949 0.0931665 0.114731
7680 0.105695 0.0916286 0.119762
10240 0.109079 0.0952706 0.122887
12800 0.116361 0.0999871 0.132734
15360 0.122941 0.100195 0.145686
17920 0.127445 0.0984109 0.156478
20480 0.130897 0.0992952 0.162499
23040 0.132543 0.10231 0.162776
25600 0.136665 0.105726 0.167604
28160 0.139824 0.108517 0.17113
30720 0.141227 0.11019 0.172264
33280 0.142797 0.111348 0.174245
35840 0.143961 0.1121 0.175822
38400 0.144634 0.112518 0.17675
END
set lmargin at screen 0.67164
set rmargin at screen 0.91791
set tmargin at screen 0.91176
set bmargin at screen 0.58824
set title 'no-separation' noenhanced offset 0, -0.5
set xlabel 'tokens' noenhanced
set ylabel 'ω' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror out norotate autofreq
set format x '% h'
set format y '% h'
set xrange [*:*]
set yrange [*:*]
unset key
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.2667
plot $m6 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#004488' notitle, \
     $m6 using 1:2 with linespoints linewidth 1.5 dashtype 1 linecolor rgb '#004488' pointtype 7 pointsize 0.6 pointnumber 8 notitle, \
     $m7 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#ddaa33' notitle, \
     $m7 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#ddaa33' pointtype 9 pointsize 0.6 pointnumber 8 notitle, \
     $m8 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#bb5566' notitle, \
     $m8 using 1:2 with linespoints linewidth 1.5 dashtype 4 linecolor rgb '#bb5566' pointtype 5 pointsize 0.6 pointnumber 8 notitle
unset label
unset logscale
$m9 << END
2560 0.103259 0.0984673 0.108051
5120 0.113549 0.101111 0.125987
7680 0.11855 0.101999 0.135101
10240 0.116492 0.0980876 0.134895
12800 0.111904 0.0933783 0.130429
15360 0.10331 0.0811532 0.125468
17920 0.0973809 0.072647 0.122115
20480 0.0872095 0.0593584 0.115061
23040 0.0817798 0.0496572 0.113902
25600 0.0795797 0.043768 0.115391
28160 0.0786011 0.0404641 0.116738
30720 0.078114 0.0391184 0.11711
33280 0.0780185 0.0383128 0.117724
35840 0.0781035 0.0378296 0.118377
38400 0.078007 0.0371804 0.118834
END
$m10 << END
2560 0.099929 0.0956839 0.104174
5120 0.101633 0.0908426 0.112422
7680 0.104717 0.0878441 0.121589
10240 0.110001 0.0851732 0.134828
12800 0.113375 0.0769666 0.149784
15360 0.117376 0.0695743 0.165177
17920 0.121933 0.0650882 0.178777
20480 0.123508 0.0625477 0.184467
23040 0.1246 0.0588068 0.190393
25600 0.123954 0.0542836 0.193624
28160 0.123738 0.051783 0.195693
30720 0.123278 0.050024 0.196531
33280 0.122478 0.0476396 0.197317
35840 0.12184 0.0462543 0.197426
38400 0.121728 0.0455402 0.197915
END
$m11 << END
2560 0 0 0
5120 0 0 0
7680 0 0 0
10240 0 0 0
12800 0 0 0
15360 0 0 0
17920 0 0 0
20480 0 0 0
23040 0 0 0
25600 0 0 0
28160 0 0 0
30720 0 0 0
33280 0 0 0
35840 0 0 0
38400 0 0 0
END
set lmargin at screen 0.05970
set rmargin at screen 0.30597
set tmargin at screen 0.44118
set bmargin at screen 0.11765
set title 'no-cohesion' noenhanced offset 0, -0.5
set xlabel 'tokens' noenhanced
set ylabel 'ω' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror out norotate autofreq
set format x '% h'
set format y '% h'
set xrange [*:*]
set yrange [*:*]
unset key
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.2667
plot $m9 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#004488' notitle, \
     $m9 using 1:2 with linespoints linewidth 1.5 dashtype 1 linecolor rgb '#004488' pointtype 7 pointsize 0.6 pointnumber 8 notitle, \
     $m10 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#ddaa33' notitle, \
     $m10 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#ddaa33' pointtype 9 pointsize 0.6 pointnumber 8 notitle, \
     $m11 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#bb5566' notitle, \
     $m11 using 1:2 with linespoints linewidth 1.5 dashtype 4 linecolor rgb '#bb5566' pointtype 5 pointsize 0.6 pointnumber 8 notitle
unset label
unset logscale
unset multiplot
