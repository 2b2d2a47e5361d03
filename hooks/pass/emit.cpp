/* Owns what is put into the program: for each group the range check, inline, and behind it the call.
 *
 *     if ((address & PFA_ADDRESS_USUAL_BIT) == 0) callback(address, last, counts)
 *
 * or, in a program that looks anywhere (hooks/access/view.h),
 *
 *     span = view.span; base = view.base          once for several groups, see below
 *     if (address - base < span) callback(address, last, counts)
 *
 * The view changes when recording begins. It is read again after whatever ends a window, and by each block that is
 * not only reached from one that has read it; but an innermost loop without a window's end reads it in front. So a program
 * notices the change with its next call, or the next turn of a loop around. */
#include "hooks/pass/pass.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace profalloc
{

namespace
{

/* Where a view is read, and what was read there. */
struct Reading {
    Instruction *at;
    Value *base = nullptr, *span = nullptr;
};

/* Where a group begins, as a distance from what is at hand: a struct, for one of its fields. */
struct Place {
    Value *base;
    Value *distance;
    bool near; /* so that the window has both or none */
};

class Emission
{
  public:
    Emission(Function &function_, Analyses &analyses_, const Options &options_)
        : function(function_), module(*function_.getParent()), analyses(analyses_), options(options_),
          view(view_of(module)), callback(callback_of(module))
    {
        word = Type::getInt64Ty(module.getContext());
    }

    void plan(Groups &groups);
    void emit(const Group &group);

  private:
    Loop *quiet_loop_of(BasicBlock *block);
    Reading *new_reading(Instruction *at);
    void plan_block(BasicBlock &block, DenseMap<Instruction *, SmallVector<Group *, 2>> &groups_at);
    Value *load_word(IRBuilder<> &builder, unsigned index);
    void read(Reading &reading);
    Value *check(IRBuilder<> &builder, const Group &group, Value *address);
    Place place_of(IRBuilder<> &builder, const Group &group);
    Value *last_of(IRBuilder<> &builder, const Group &group);
    Value *counts_of(IRBuilder<> &builder, const Group &group);
    void enter(IRBuilder<> &builder, Value *condition, Instruction *at);

    Function &function;
    Module &module;
    Analyses &analyses;
    const Options &options;
    GlobalVariable *view;
    Function *callback;
    Type *word;
    SmallVector<std::unique_ptr<Reading>, 16> readings;
    DenseMap<const Group *, Reading *> reading_of;
    DenseMap<BasicBlock *, Reading *> at_end; /* of a block: still as good as new */
    DenseMap<Loop *, std::pair<bool, Reading *>> of_loop;
};

Reading *Emission::new_reading(Instruction *at)
{
    readings.push_back(std::make_unique<Reading>(Reading{at}));
    return readings.back().get();
}

/* The innermost loop around, if nothing in it ends a window and there is a place in front of it. */
Loop *Emission::quiet_loop_of(BasicBlock *block)
{
    Loop *loop = analyses.loops.getLoopFor(block);
    if (!loop || !loop->isInnermost() || !options.share_view) {
        return nullptr;
    }
    auto [place, is_new] = of_loop.try_emplace(loop, false, nullptr);
    if (is_new) {
        place->second.first = loop->getLoopPreheader() &&
                              none_of(loop->blocks(), [](BasicBlock *inside) { return any_of(*inside, ends_window); });
    }
    return place->second.first ? loop : nullptr;
}

void Emission::plan_block(BasicBlock &block, DenseMap<Instruction *, SmallVector<Group *, 2>> &groups_at)
{
    Loop *quiet = quiet_loop_of(&block);
    BasicBlock *before = block.getSinglePredecessor();
    Reading *current = before && options.share_view ? at_end.lookup(before) : nullptr;
    for (Instruction &instruction : block) {
        auto found = groups_at.find(&instruction);
        if (found != groups_at.end()) {
            if (quiet && !current) {
                Reading *&shared = of_loop[quiet].second;
                shared = shared ? shared : new_reading(quiet->getLoopPreheader()->getTerminator());
                current = shared;
            }
            for (Group *group : found->second) {
                current = current && options.share_view ? current : new_reading(&instruction);
                reading_of[group] = current;
            }
        }
        if (ends_window(instruction)) {
            current = nullptr;
        }
    }
    at_end[&block] = current;
}

void Emission::plan(Groups &groups)
{
    DenseMap<Instruction *, SmallVector<Group *, 2>> groups_at;
    for (Group &group : groups) {
        groups_at[group.at].push_back(&group);
    }
    for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
        plan_block(*block, groups_at);
    }
    /* Before blocks are split, so that a reading stands in front of all checks at its place. */
    for (auto &reading : readings) {
        read(*reading);
    }
}

Value *Emission::load_word(IRBuilder<> &builder, unsigned index)
{
    Value *words = builder.CreatePointerCast(view, PointerType::get(word, 0));
    return builder.CreateAlignedLoad(word, builder.CreateConstInBoundsGEP1_64(word, words, index), Align(8));
}

/* The span first: the library stores the base before it. */
void Emission::read(Reading &reading)
{
    IRBuilder<> builder(reading.at);
    reading.span = load_word(builder, 1);
    reading.base = load_word(builder, 0);
}

/* One bit says no to nearly all that are not in the window; the callback looks at the others. */
Value *Emission::check(IRBuilder<> &builder, const Group &group, Value *address)
{
    if (!options.anywhere) {
        Value *usual = builder.CreateAnd(address, builder.getInt64(usual_bit_of(module)));
        return builder.CreateICmpEQ(usual, builder.getInt64(0));
    }
    const Reading &reading = *reading_of[&group];
    return builder.CreateICmpULT(builder.CreateSub(address, reading.base), reading.span);
}

/* Goes on where it is so. */
void Emission::enter(IRBuilder<> &builder, Value *condition, Instruction *at)
{
    MDNode *weights = MDBuilder(module.getContext()).createBranchWeights(1, 1000);
    builder.SetInsertPoint(SplitBlockAndInsertIfThen(condition, at, false, weights));
    builder.SetCurrentDebugLocation(at->getDebugLoc());
}

/* The compare-and-swap that a group is; what was moved to stand in front of one is none. */
static AtomicCmpXchgInst *swap_of(const Group &group)
{
    return group.lone && !group.counts ? dyn_cast<AtomicCmpXchgInst>(group.at) : nullptr;
}

/* A compare-and-swap that failed has read and no more: it is told when that is known. */
Value *Emission::counts_of(IRBuilder<> &builder, const Group &group)
{
    Value *counts = group.counts ? group.counts : builder.getInt64(uint64_t(group.writes) << 32 | group.reads);
    if (auto *swap = swap_of(group)) {
        return builder.CreateSelect(builder.CreateExtractValue(swap, 1), counts, builder.getInt64(group.reads));
    }
    return counts;
}

/* How far its last byte is from its first. */
Value *Emission::last_of(IRBuilder<> &builder, const Group &group)
{
    if (group.last) {
        return group.last;
    }
    return group.size ? builder.CreateSub(group.size, builder.getInt64(1))
                      : builder.getInt64(uint64_t(group.high - group.low - 1));
}

/* One bit is the same for both, if that is near; the view's base may lie between them. */
Place Emission::place_of(IRBuilder<> &builder, const Group &group)
{
    if (group.distance) {
        return {builder.CreatePtrToInt(group.pointer, word), group.distance, !options.anywhere};
    }
    Origin origin = origin_of(group, module.getDataLayout());
    int64_t distance = origin.offset + group.low;
    if (options.anywhere || distance < 0 || distance > near_max) {
        origin.value = group.pointer;
        distance = group.low;
    }
    bool is_pointer = origin.value->getType()->isPointerTy();
    return {is_pointer ? builder.CreatePtrToInt(origin.value, word) : origin.value,
            builder.getInt64(uint64_t(distance)),
            distance == 0 || (!options.anywhere && distance > 0 && distance <= near_max)};
}

void Emission::emit(const Group &group)
{
    Instruction *at = swap_of(group) ? group.at->getNextNode() : group.at;
    IRBuilder<> builder(at);
    Place place = place_of(builder, group);
    /* What is a little above an address in the window is in it too: no chunk lies at its very end. */
    Value *address = place.near ? nullptr : builder.CreateAdd(place.base, place.distance);
    Value *concerns = check(builder, group, address ? address : place.base);
    Value *needed = group.guard ? builder.CreateLogicalAnd(group.guard, concerns) : concerns;
    enter(builder, needed, at);
    address = address ? address : builder.CreateAdd(place.base, place.distance);
    if (!options.anywhere && module.getPICLevel() == PICLevel::NotPIC) {
        /* Its globals lie low: they have not that bit either. */
        Value *window =
            builder.CreateICmpEQ(builder.CreateLShr(address, PFA_WINDOW_SHIFT), builder.getInt64(PFA_WINDOW));
        enter(builder, window, &*builder.GetInsertPoint());
    }
    CallInst *call = builder.CreateCall(callback, {address, last_of(builder, group), counts_of(builder, group)});
    call->setCallingConv(callback->getCallingConv());
    call->setDoesNotThrow();
}

} // namespace

void emit(Groups &groups, Function &function, Analyses &analyses, const Options &options)
{
    if (groups.empty()) {
        return;
    }
    Emission emission(function, analyses, options);
    if (options.anywhere) {
        emission.plan(groups);
    }
    for (const Group &group : groups) {
        emission.emit(group);
    }
}

} // namespace profalloc
