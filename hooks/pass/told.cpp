/* Owns the trees of what is told, and the phis that they become. What is added to a tree twice is one tree, so that ways that
 * part and meet again do not become more than they are. */
#include "hooks/pass/told.h"

#include <llvm/ADT/SmallPtrSet.h>

using namespace llvm;

namespace profalloc
{

const unsigned leaves_max = 8; /* more are not worth the code */

const Told *Telling::leaf(int64_t low, int64_t high, unsigned reads, unsigned writes)
{
    all.push_back({low, high, reads, writes, nullptr, {}, {}, 1});
    return &all.back();
}

bool Telling::may_sum(const Told &one, const Told &other) const
{
    if (one.join || other.join) {
        return !(one.join && other.join) && may_meet(one, other);
    }
    return uint64_t(std::max(one.high, other.high)) - uint64_t(std::min(one.low, other.low)) <= uint64_t(reach_max);
}

bool Telling::may_meet(const Told &one, const Told &other) const
{
    return one.low >= 0 && other.low >= 0 && one.high <= near_max && other.high <= near_max;
}

const Told *Telling::sum(const Told &one, const Told &other)
{
    if (!may_sum(one, other)) {
        return nullptr;
    }
    return other.join ? plus(other, one) : plus(one, other);
}

const Told *Telling::plus(const Told &told, const Told &leaf)
{
    if (const Told *known = sums.lookup({&told, &leaf})) {
        return known;
    }
    Told both = told;
    both.low = std::min(told.low, leaf.low);
    both.high = std::max(told.high, leaf.high);
    both.reads += leaf.reads;
    both.writes += leaf.writes;
    for (const Told *&way : both.ways) {
        way = plus(*way, leaf);
    }
    all.push_back(std::move(both));
    return sums[{&told, &leaf}] = &all.back();
}

const Told *Telling::meeting(BasicBlock &join, ArrayRef<BasicBlock *> from, ArrayRef<const Told *> ways)
{
    Told told = {INT64_MAX, INT64_MIN, 0, 0, &join, {from.begin(), from.end()}, {ways.begin(), ways.end()}, 0};
    SmallPtrSet<const Told *, 4> seen;
    for (const Told *way : ways) {
        told.low = std::min(told.low, way->low);
        told.high = std::max(told.high, way->high);
        told.leaves += seen.insert(way).second ? way->leaves : 0;
    }
    if (told.leaves > leaves_max || told.low < 0 || told.high > near_max) {
        return nullptr;
    }
    all.push_back(std::move(told));
    return &all.back();
}

Value *Telling::value_of(const Told &told, Part part, Type *word)
{
    if (!told.join) {
        uint64_t counts = uint64_t(told.writes) << 32 | told.reads;
        return ConstantInt::get(word,
                                part == COUNTS ? counts : uint64_t(part == LOW ? told.low : told.high - told.low - 1));
    }
    if (Value *known = values.lookup({&told, part})) {
        return known;
    }
    SmallVector<Value *, 4> parts;
    Value *first = nullptr;
    bool same = true;
    for (const Told *way : told.ways) {
        parts.push_back(value_of(*way, part, word));
        first = first ? first : parts.back();
        same &= parts.back() == first;
    }
    if (same) {
        return values[{&told, part}] = first;
    }
    PHINode *phi = PHINode::Create(word, unsigned(parts.size()), "", &told.join->front());
    for (size_t i = 0; i < parts.size(); i++) {
        phi->addIncoming(parts[i], told.from[i]);
    }
    return values[{&told, part}] = phi;
}

void Telling::write(Group &group, const Told &told, const Origin &origin)
{
    if (!told.join) {
        group.low = told.low - origin.offset;
        group.high = told.high - origin.offset;
        group.reads = told.reads;
        group.writes = told.writes;
        return;
    }
    Type *word = Type::getInt64Ty(told.join->getContext());
    group.pointer = origin.value;
    group.distance = value_of(told, LOW, word);
    group.last = value_of(told, LAST, word);
    group.counts = value_of(told, COUNTS, word);
}

} // namespace profalloc
