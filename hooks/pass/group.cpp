/* Owns windows: stretches of code in which nothing is allocated, freed or synchronised, and that are executed as a whole
 * or not at all. The accesses of a window through one base make one group, told where the first of them stands.
 *
 * A window begins in a block and may go on in a block that is executed exactly as often (it post-dominates the first, is
 * dominated by it, and is in the same loop) if nothing on the ways between ends it. Which accesses have one base, ScalarEvolution
 * knows: their addresses are the same expression but for a constant. */
#include "hooks/pass/pass.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>

using namespace llvm;

namespace profalloc
{

namespace
{

const unsigned region_max = 16; /* blocks between two parts of a window */

/* A group that may grow, and where its `pointer` lies from the base. */
struct Open {
    size_t group;
    int64_t offset;
};
using Window = DenseMap<const SCEV *, Open>;

class Grouping
{
  public:
    Grouping(Function &function_, Analyses &analyses_, const Known &known_, const Options &options_)
        : function(function_), analyses(analyses_), known(known_), options(options_)
    {
    }

    Groups all();

  private:
    void visit(BasicBlock &block);
    void add(Instruction &instruction, const Access &access, Window &window);
    bool join(Group &group, const Open &open, const Access &access, int64_t offset);
    const SCEV *base_of(Value *pointer, int64_t &offset);
    const SCEV *without_constant(const SCEV *expression, APInt &constant);
    bool has_end(const BasicBlock &block);
    bool goes_on(const BasicBlock &from, const BasicBlock &to);

    Function &function;
    Analyses &analyses;
    const Known &known;
    const Options &options;
    Groups groups;
    DenseMap<const BasicBlock *, Window> windows; /* open at the blocks' ends */
    DenseMap<const BasicBlock *, bool> ends;
};

/* The expression less its constant, which is added to `constant`; that of a loop's recurrence is in its start. */
const SCEV *Grouping::without_constant(const SCEV *expression, APInt &constant)
{
    ScalarEvolution &scev = analyses.scev;
    if (auto *sum = dyn_cast<SCEVAddExpr>(expression)) {
        auto *number = dyn_cast<SCEVConstant>(sum->getOperand(0));
        auto operands = sum->operands();
        SmallVector<const SCEV *, 4> rest(operands.begin() + (number ? 1 : 0), operands.end());
        if (number) {
            constant += number->getAPInt();
        }
        for (const SCEV *&part : rest) {
            part = isa<SCEVAddRecExpr>(part) ? without_constant(part, constant) : part;
        }
        return rest.size() == 1 ? rest[0] : scev.getAddExpr(rest);
    }
    if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(expression)) {
        auto operands = recurrence->operands();
        SmallVector<const SCEV *, 4> parts(operands.begin(), operands.end());
        parts[0] = without_constant(parts[0], constant);
        return scev.getAddRecExpr(parts, recurrence->getLoop(), SCEV::FlagAnyWrap);
    }
    return expression;
}

const SCEV *Grouping::base_of(Value *pointer, int64_t &offset)
{
    if (!analyses.scev.isSCEVable(pointer->getType()) || !pointer->getType()->isPointerTy()) {
        return nullptr;
    }
    APInt constant(64, 0);
    const SCEV *base = without_constant(analyses.scev.getSCEV(pointer), constant);
    offset = constant.getSExtValue();
    return base;
}

bool Grouping::join(Group &group, const Open &open, const Access &access, int64_t offset)
{
    int64_t low = offset - open.offset;
    int64_t high = low + int64_t(access.bytes);
    bool same_bytes = low == group.low && high == group.high;
    int64_t new_low = std::min(low, group.low), new_high = std::max(high, group.high);
    if ((options.map && !same_bytes) || new_high - new_low > reach_max) {
        return false;
    }
    group.low = new_low;
    group.high = new_high;
    group.reads += access.reads;
    group.writes += access.writes;
    return true;
}

void Grouping::add(Instruction &instruction, const Access &access, Window &window)
{
    const SCEV *base = nullptr;
    int64_t offset = 0;
    if (options.merge && !access.lone && access.bytes != 0 && !access.guard && groups.size() < groups_max) {
        base = base_of(access.pointer, offset);
    }
    auto open = base ? window.find(base) : window.end();
    if (open != window.end() && join(groups[open->second.group], open->second, access, offset)) {
        return;
    }
    if (base) {
        window[base] = {groups.size(), offset};
    }
    groups.push_back({&instruction, access.pointer, 0, int64_t(access.bytes), access.reads, access.writes, access.lone,
                      access.size, access.guard});
}

bool Grouping::has_end(const BasicBlock &block)
{
    auto [place, is_new] = ends.try_emplace(&block, false);
    if (is_new) {
        place->second = any_of(block, ends_window);
    }
    return place->second;
}

/* Is `to` executed once for each time that `from` is, after it, with no window's end on any way between? */
bool Grouping::goes_on(const BasicBlock &from, const BasicBlock &to)
{
    const Loop *loop = analyses.loops.getLoopFor(&from);
    if (loop != analyses.loops.getLoopFor(&to) || !analyses.post_dominators.dominates(&to, &from)) {
        return false;
    }
    SmallPtrSet<const BasicBlock *, region_max> seen;
    SmallVector<const BasicBlock *, region_max> todo(succ_begin(&from), succ_end(&from));
    while (!todo.empty()) {
        const BasicBlock *block = todo.pop_back_val();
        if (block == &to || !seen.insert(block).second) {
            continue;
        }
        /* The dominators' order makes a block of the same loop, other than its header, one before `to`; a loop within
         * could be one that does not end. */
        if (seen.size() > region_max || has_end(*block) || analyses.loops.getLoopFor(block) != loop ||
            !analyses.dominators.properlyDominates(&from, block)) {
            return false;
        }
        todo.append(succ_begin(block), succ_end(block));
    }
    return true;
}

void Grouping::visit(BasicBlock &block)
{
    Window window;
    auto *node = analyses.dominators.getNode(&block)->getIDom();
    if (options.merge && options.across && node && goes_on(*node->getBlock(), block)) {
        window = windows[node->getBlock()];
    }
    for (Instruction &instruction : block) {
        for (const Access &access : find_accesses(instruction, known)) {
            add(instruction, access, window);
        }
        if (ends_window(instruction)) {
            window.clear();
        }
    }
    windows[&block] = std::move(window);
}

Groups Grouping::all()
{
    for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
        visit(*block);
    }
    return std::move(groups);
}

} // namespace

Origin origin_of(const Group &group, const DataLayout &layout)
{
    if (!group.pointer->getType()->isPointerTy()) {
        return {group.pointer, 0};
    }
    APInt offset(64, 0);
    Value *value = group.pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    if (value->getType()->getPointerAddressSpace() != 0) {
        return {group.pointer, 0};
    }
    return {value, offset.getSExtValue()};
}

Groups find_groups(Function &function, Analyses &analyses, const Known &known, const Options &options)
{
    return Grouping(function, analyses, known, options).all();
}

} // namespace profalloc
