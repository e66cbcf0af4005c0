# Written by ascgrad. To draw it again: gnuplot -c FILE.gp svg >FILE.svg, or png, or pdf
if (!exists('format')) { format = exists('ARGC') && ARGC > 0 ? ARG1 : 'png' }
svg = format eq 'svg'
if (svg) { set terminal svg size 790, 404 enhanced standalone background 'white' font 'sans-serif,10.5' }
if (format eq 'pdf') { set terminal pdfcairo size 7.9000in, 4.0400in enhanced font 'sans-serif,6' linewidth 0.75 }
if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo size 790, 404 enhanced font 'sans-serif,8' }
if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal png truecolor size 790, 404 enhanced font 'sans-serif,8' }
set encoding utf8
set multiplot
set tics nomirror out scale 0.4
set key noenhanced
set label 'builtin: what each part is worth, and what it costs' at screen 0.01519, screen 0.95545 left noenhanced font ',11'
$m0 << END
0 50.8148 43.302 58.3276
1 48.889 42.5364 55.2416
2 48.7452 42.5069 54.9834
3 48.9049 42.6412 55.1686
4 48.9351 42.533 55.3372
5 43.5276 41.1713 45.8839
END
set lmargin at screen 0.10127
set rmargin at screen 0.48101
set tmargin at screen 0.82673
set bmargin at screen 0.18317
set title 'perplexity (test)' noenhanced offset 0, -0.5
set xlabel '' noenhanced
set ylabel '' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror scale 0 rotate by 30 right noenhanced ('transformer' 0, 'ascender' 1, 'no-alignment' 2, 'no-separation' 3, 'no-cohesion' 4, 'grassmann' 5)
set format x '% h'
set format y '% h'
set xrange [-0.6:5.6]
set yrange [0:*]
unset key
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.8000
plot $m0 using 1:2 with boxes fillstyle solid 0.85 border linecolor rgb '#404040' fillcolor rgb '#004488' linewidth 0.5 notitle, \
     $m0 using 1:3:(0):($4-$3) with vectors heads size graph 0.01,90 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m0 using 1:(0):(sprintf('%.4g', $2)) with labels rotate by 90 left offset 0, 0.4 textcolor rgb 'white' notitle
unset label
unset logscale
$m1 << END
0 0.233664 0.233664 0.233664
1 0.26496 0.26496 0.26496
2 0.26496 0.26496 0.26496
3 0.26496 0.26496 0.26496
4 0.26496 0.26496 0.26496
5 0.399168 0.399168 0.399168
END
set lmargin at screen 0.59494
set rmargin at screen 0.97468
set tmargin at screen 0.82673
set bmargin at screen 0.18317
set title 'MFLOP a token of training' noenhanced offset 0, -0.5
set xlabel '' noenhanced
set ylabel '' noenhanced
unset offsets
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror scale 0 rotate by 30 right noenhanced ('transformer' 0, 'ascender' 1, 'no-alignment' 2, 'no-separation' 3, 'no-cohesion' 4, 'grassmann' 5)
set format x '% h'
set format y '% h'
set xrange [-0.6:5.6]
set yrange [0:*]
unset key
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.8000
plot $m1 using 1:2 with boxes fillstyle solid 0.85 border linecolor rgb '#404040' fillcolor rgb '#004488' linewidth 0.5 notitle, \
     $m1 using 1:3:(0):($4-$3) with vectors heads size graph 0.01,90 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m1 using 1:(0):(sprintf('%.4g', $2)) with labels rotate by 90 left offset 0, 0.4 textcolor rgb 'white' notitle
unset label
unset logscale
unset multiplot
