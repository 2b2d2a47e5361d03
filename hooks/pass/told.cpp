#include "hooks/pass/told.h"

using namespace llvm;

namespace profalloc
{

const unsigned leaves_max = 16; /* more are not worth the code */

const Told *Telling::leaf(int64_t low, int64_t high, unsigned reads, unsigned writes)
{
    all.push_back({low, high, reads, writes, nullptr, {}, {}, 1});
    return &all.back();
}

bool Telling::may_sum(const Told &one, const Told &other) const
{
    int64_t low = std::min(one.low, other.low), high = std::max(one.high, other.high);
    if (one.join || other.join) {
        return !(one.join && other.join) && low >= 0 && high <= near_max;
    }
    return high - low <= reach_max;
}

const Told *Telling::sum(const Told &one, const Told &other)
{
    if (!may_sum(one, other)) {
        return nullptr;
    }
    return other.join ? plus(other, one) : plus(one, other);
}

const Told *Telling::plus(const Told &tree, const Told &leaf)
{
    Told told = tree;
    told.low = std::min(tree.low, leaf.low);
    told.high = std::max(tree.high, leaf.high);
    told.reads += leaf.reads;
    told.writes += leaf.writes;
    for (const Told *&way : told.ways) {
        way = plus(*way, leaf);
    }
    all.push_back(std::move(told));
    return &all.back();
}

const Told *Telling::meeting(BasicBlock &join, ArrayRef<BasicBlock *> from, ArrayRef<const Told *> ways)
{
    Told told = {INT64_MAX, INT64_MIN, 0, 0, &join, {from.begin(), from.end()}, {ways.begin(), ways.end()}, 0};
    for (const Told *way : ways) {
        told.low = std::min(told.low, way->low);
        told.high = std::max(told.high, way->high);
        told.leaves += way->leaves;
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
