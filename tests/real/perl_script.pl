# Work for an allocator, done by perl: hashes, regular expressions, sorting, growing strings, closures, forks and pipes,
# and interpreter threads. Prints only what does not depend on hash order, pids or time.
use strict;
use warnings;
use threads;
use Digest::SHA qw(sha1_hex);

my $seed = 12345;

sub pseudo_random {
    $seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
    return $seed >> 8;
}

sub word {
    my $n = shift;
    return join '', map { chr(97 + ($n * 7 + $_ * 13 + ($n >> $_)) % 26) } 1 .. 3 + $n % 9;
}

sub count_words {
    my ($rounds) = @_;
    my %count;
    $count{ word(pseudo_random() % 5000) }++ for 1 .. $rounds;
    my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    delete $count{$_} for grep { $count{$_} % 2 } keys %count;
    return join ',', scalar(@top), scalar(keys %count), @top[0 .. 4];
}

sub nested_structures {
    my %tree;
    for my $i (1 .. 20000) {
        push @{ $tree{ $i % 97 }{ word($i) } }, { id => $i, text => "item $i" x ($i % 5) };
    }
    my $digest = '';
    for my $outer (sort { $a <=> $b } keys %tree) {
        for my $inner (sort keys %{ $tree{$outer} }) {
            $digest = sha1_hex($digest, $outer, $inner, map { $_->{id}, $_->{text} } @{ $tree{$outer}{$inner} });
        }
    }
    return $digest;
}

sub regular_expressions {
    my $text = join ' ', map { word($_) . "=" . ($_ * 17) } 1 .. 20000;
    my %found;
    while ($text =~ /\b(?<name>[a-m]\w*)=(?<value>\d+)/g) {
        $found{ $+{name} } += $+{value};
    }
    (my $swapped = $text) =~ s/(\w+)=(\d+)/$2=>$1/g;
    my @fields = split /\s*=>\s*|\s+/, $swapped;
    return join ',', scalar(keys %found), length $swapped, scalar(@fields), sha1_hex($swapped);
}

sub growing_strings {
    my $long = '';
    $long .= chr(65 + $_ % 26) x ($_ % 300) for 1 .. 30000;
    my @pieces = unpack '(A1024)*', $long;
    return join ',', length $long, scalar @pieces, sha1_hex(join '', reverse @pieces);
}

sub forked_sums {
    my @answers;
    my @readers;
    for my $child (0 .. 7) {
        my $pid = open(my $reader, '-|') // die "fork: $!";
        if ($pid == 0) {
            my %own = map { $_ => "$child-$_" } 1 .. 5000;
            print "child $child ", sha1_hex(join '|', map { $own{$_} } sort { $a <=> $b } keys %own), "\n";
            exit $child;
        }
        push @readers, $reader;
    }
    for my $reader (@readers) {
        push @answers, scalar <$reader>;
        close $reader;
        push @answers, "status $?\n";
    }
    return join '', @answers;
}

sub threaded_digests {
    my @workers = map {
        my $id = $_;
        threads->create(sub {
            my @kept = map { { key => "$id:$_", value => 'x' x ($_ % 500) } } 1 .. 4000;
            return sha1_hex(map { $_->{key}, $_->{value} } grep { length($_->{value}) % 3 } @kept);
        });
    } 1 .. 4;
    return join ',', map { $_->join } @workers;
}

sub caught_errors {
    my $caught = 0;
    for my $i (1 .. 5000) {
        eval { die { code => $i, text => 'e' x ($i % 100) } if $i % 3; 1 } or $caught += $@->{code};
    }
    return $caught;
}

sub large_sort {
    my @numbers = map { pseudo_random() } 1 .. 100000;
    my @sorted = sort { $a <=> $b } @numbers;
    my @texts = sort map { "$_" } @numbers;
    return join ',', @sorted[0, 50000, -1], @texts[0, 50000, -1];
}

$| = 1;
print "words ", count_words(100000), "\n";
print "nested ", nested_structures(), "\n";
print "regex ", regular_expressions(), "\n";
print "strings ", growing_strings(), "\n";
print "forks\n", forked_sums();
print "threads ", threaded_digests(), "\n";
print "errors ", caught_errors(), "\n";
print "sort ", large_sort(), "\n";
print "command ", `printf '%s-%s' one two`, "\n";
print "system ", system('sh', '-c', 'exit 3') >> 8, "\n";
