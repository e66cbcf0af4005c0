# Written by ascgrad. To draw it again: gnuplot -c FILE.gp svg >FILE.svg, or png, or pdf
if (!exists('format')) { format = exists('ARGC') && ARGC > 0 ? ARG1 : 'png' }
svg = format eq 'svg'
if (svg) { set terminal svg size 958, 460 enhanced standalone background 'white' font 'sans-serif,10.5' }
if (format eq 'pdf') { set terminal pdfcairo size 9.5800in, 4.6000in enhanced font 'sans-serif,6' linewidth 0.75 }
if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo size 958, 460 enhanced font 'sans-serif,8' }
if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal png truecolor size 958, 460 enhanced font 'sans-serif,8' }
set encoding utf8
set multiplot
set tics nomirror out scale 0.4
set key noenhanced
set label 'builtin: validation perplexity' at screen 0.01253, screen 0.96087 left noenhanced font ',11'
$m0 << END
12800 123.314 110.015 136.614
25600 68.5027 55.4107 81.5947
38400 53.7625 46.0668 61.4582
END
$m1 << END
12800 122.987 109.936 136.039
25600 65.764 54.3274 77.2006
38400 51.7485 45.3422 58.1548
END
$m2 << END
12800 122.931 109.849 136.014
25600 65.6023 54.3366 76.8679
38400 51.5905 45.3355 57.8455
END
$m3 << END
12800 122.975 109.892 136.058
25600 65.9196 54.4835 77.3557
38400 51.7132 45.3984 58.028
END
$m4 << END
12800 122.925 109.742 136.108
25600 65.7984 54.3006 77.2962
38400 51.7966 45.3635 58.2297
END
$m5 << END
12800 102.658 94.4305 110.886
25600 55.0722 50.7 59.4444
38400 46.3086 43.6807 48.9364
END
set lmargin at screen 0.08351
set rmargin at screen 0.83507
set tmargin at screen 0.86957
set bmargin at screen 0.13043
set title '' noenhanced offset 0, -0.5
set xlabel 'tokens' noenhanced
set ylabel 'validation perplexity' noenhanced
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
set key at screen 0.84760, screen 0.86957 left top Left reverse vertical maxrows 40 samplen 3
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.1333
plot $m0 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#004488' notitle, \
     $m0 using 1:2 with linespoints linewidth 1.5 dashtype 1 linecolor rgb '#004488' pointtype 7 pointsize 0.6 title 'transformer', \
     $m1 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#ddaa33' notitle, \
     $m1 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#ddaa33' pointtype 9 pointsize 0.6 title 'ascender', \
     $m2 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#bb5566' notitle, \
     $m2 using 1:2 with linespoints linewidth 1.5 dashtype 4 linecolor rgb '#bb5566' pointtype 5 pointsize 0.6 title 'no-alignment', \
     $m3 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#000000' notitle, \
     $m3 using 1:2 with linespoints linewidth 1.5 dashtype 3 linecolor rgb '#000000' pointtype 13 pointsize 0.6 title 'no-separation', \
     $m4 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#44aadd' notitle, \
     $m4 using 1:2 with linespoints linewidth 1.5 dashtype 5 linecolor rgb '#44aadd' pointtype 11 pointsize 0.6 title 'no-cohesion', \
     $m5 using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder linecolor rgb '#228833' notitle, \
     $m5 using 1:2 with linespoints linewidth 1.5 dashtype 2 linecolor rgb '#228833' pointtype 4 pointsize 0.6 title 'grassmann'
unset label
unset logscale
unset multiplot
