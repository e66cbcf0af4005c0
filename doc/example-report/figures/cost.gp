# Written by ascgrad. To draw it again: gnuplot -c FILE.gp svg >FILE.svg, or png, or pdf
if (!exists('format')) { format = exists('ARGC') && ARGC > 0 ? ARG1 : 'png' }
svg = format eq 'svg'
if (svg) { set terminal svg size 1308, 390 enhanced standalone background 'white' font 'sans-serif,10.5' }
if (format eq 'pdf') { set terminal pdfcairo size 13.0800in, 3.9000in enhanced font 'sans-serif,6' linewidth 0.75 }
if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo size 1308, 390 enhanced font 'sans-serif,8' }
if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal png truecolor size 1308, 390 enhanced font 'sans-serif,8' }
set encoding utf8
set multiplot
set tics nomirror out scale 0.4
set key noenhanced
set label 'builtin: quality against cost' at screen 0.00917, screen 0.95385 left noenhanced font ',11'
$m0 << END
0.233664 50.8148 43.302 58.3276
END
$m1 << END
0.26496 48.889 42.5364 55.2416
END
$m2 << END
0.26496 48.7452 42.5069 54.9834
END
$m3 << END
0.26496 48.9049 42.6412 55.1686
END
$m4 << END
0.26496 48.9351 42.533 55.3372
END
$m5 << END
0.399168 43.5276 41.1713 45.8839
END
$m6 << END
0.233664 50.8148 50.8148 50.8148
0.26496 48.7452 48.7452 48.7452
0.399168 43.5276 43.5276 43.5276
END
set lmargin at screen 0.06116
set rmargin at screen 0.29052
set tmargin at screen 0.82051
set bmargin at screen 0.15385
set title '' noenhanced offset 0, -0.5
set xlabel 'MFLOP a token of training' noenhanced
set ylabel 'perplexity (test)' noenhanced
set offsets graph 0.06, graph 0.06, graph 0.06, graph 0.06
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
set boxwidth 0.1143
plot $m0 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m0 using 1:2 with points linecolor rgb '#004488' pointtype 7 pointsize 1.0 notitle, \
     $m1 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m1 using 1:2 with points linecolor rgb '#ddaa33' pointtype 9 pointsize 1.0 notitle, \
     $m2 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m2 using 1:2 with points linecolor rgb '#bb5566' pointtype 5 pointsize 1.0 notitle, \
     $m3 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m3 using 1:2 with points linecolor rgb '#000000' pointtype 13 pointsize 1.0 notitle, \
     $m4 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m4 using 1:2 with points linecolor rgb '#44aadd' pointtype 11 pointsize 1.0 notitle, \
     $m5 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m5 using 1:2 with points linecolor rgb '#228833' pointtype 4 pointsize 1.0 notitle, \
     $m6 using 1:2 with steps linewidth 1.2 dashtype 3 linecolor rgb '#000000' notitle
unset label
unset logscale
$m7 << END
0.0183712659 50.8148 43.302 58.3276
END
$m8 << END
0.0695455092 48.889 42.5364 55.2416
END
$m9 << END
0.0759972312 48.7452 42.5069 54.9834
END
$m10 << END
0.0776701275 48.9049 42.6412 55.1686
END
$m11 << END
0.0898778506 48.9351 42.533 55.3372
END
$m12 << END
0.0357411624 43.5276 41.1713 45.8839
END
$m13 << END
0.0183712659 50.8148 50.8148 50.8148
0.0357411624 43.5276 43.5276 43.5276
END
set lmargin at screen 0.35933
set rmargin at screen 0.58869
set tmargin at screen 0.82051
set bmargin at screen 0.15385
set title '' noenhanced offset 0, -0.5
set xlabel 'ms a token of training' noenhanced
set ylabel 'perplexity (test)' noenhanced
set offsets graph 0.06, graph 0.06, graph 0.06, graph 0.06
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
set boxwidth 0.1143
plot $m7 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m7 using 1:2 with points linecolor rgb '#004488' pointtype 7 pointsize 1.0 notitle, \
     $m8 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m8 using 1:2 with points linecolor rgb '#ddaa33' pointtype 9 pointsize 1.0 notitle, \
     $m9 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m9 using 1:2 with points linecolor rgb '#bb5566' pointtype 5 pointsize 1.0 notitle, \
     $m10 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m10 using 1:2 with points linecolor rgb '#000000' pointtype 13 pointsize 1.0 notitle, \
     $m11 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m11 using 1:2 with points linecolor rgb '#44aadd' pointtype 11 pointsize 1.0 notitle, \
     $m12 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m12 using 1:2 with points linecolor rgb '#228833' pointtype 4 pointsize 1.0 notitle, \
     $m13 using 1:2 with steps linewidth 1.2 dashtype 3 linecolor rgb '#000000' notitle
unset label
unset logscale
$m14 << END
10.7486979 50.8148 43.302 58.3276
END
$m15 << END
12.3893229 48.889 42.5364 55.2416
END
$m16 << END
12.4791666 48.7452 42.5069 54.9834
END
$m17 << END
12.4101563 48.9049 42.6412 55.1686
END
$m18 << END
12.5286459 48.9351 42.533 55.3372
END
$m19 << END
11.9713542 43.5276 41.1713 45.8839
END
$m20 << END
10.7486979 50.8148 50.8148 50.8148
11.9713542 43.5276 43.5276 43.5276
END
set lmargin at screen 0.65749
set rmargin at screen 0.88685
set tmargin at screen 0.82051
set bmargin at screen 0.15385
set title '' noenhanced offset 0, -0.5
set xlabel 'peak memory, MiB' noenhanced
set ylabel 'perplexity (test)' noenhanced
set offsets graph 0.06, graph 0.06, graph 0.06, graph 0.06
unset xtics
unset ytics
unset logscale
set ytics nomirror out norotate autofreq
set xtics nomirror out norotate autofreq
set format x '% h'
set format y '% h'
set xrange [*:*]
set yrange [*:*]
set key at screen 0.89755, screen 0.82051 left top Left reverse vertical maxrows 40 samplen 3
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d')
set cbrange [0:1]
unset colorbox
set boxwidth 0.1143
plot $m14 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m14 using 1:2 with points linecolor rgb '#004488' pointtype 7 pointsize 1.0 title 'transformer', \
     $m15 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m15 using 1:2 with points linecolor rgb '#ddaa33' pointtype 9 pointsize 1.0 title 'ascender', \
     $m16 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m16 using 1:2 with points linecolor rgb '#bb5566' pointtype 5 pointsize 1.0 title 'no-alignment', \
     $m17 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m17 using 1:2 with points linecolor rgb '#000000' pointtype 13 pointsize 1.0 title 'no-separation', \
     $m18 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m18 using 1:2 with points linecolor rgb '#44aadd' pointtype 11 pointsize 1.0 title 'no-cohesion', \
     $m19 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040' notitle, \
     $m19 using 1:2 with points linecolor rgb '#228833' pointtype 4 pointsize 1.0 title 'grassmann', \
     $m20 using 1:2 with steps linewidth 1.2 dashtype 3 linecolor rgb '#000000' title 'Pareto front'
unset label
unset logscale
unset multiplot
