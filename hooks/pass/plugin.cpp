/* Owns the pass as clang sees it: its name, its place in the pipeline, its options, and the order of its parts.
 *
 * The place is the end of the optimisation pipeline, at every level, -O0 included; with link-time optimisation that is the
 * pipeline before the link. Options come from PROFALLOC_PASS_OPTIONS (words with commas between them), since clang reads
 * -mllvm before it loads a pass; where it has been loaded by then (-Xclang -load), -mllvm -profalloc-map does the same. */
#include "hooks/pass/pass.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

using namespace llvm;
using namespace profalloc;

static cl::opt<bool> map_option("profalloc-map", cl::desc("accesses for the map of words"));
static cl::opt<bool> anywhere_option("profalloc-anywhere", cl::desc("look wherever the library says"));
static cl::opt<bool> no_merge_option("profalloc-no-merge", cl::desc("tell each access by itself"));
static cl::opt<bool> no_hoist_option("profalloc-no-hoist", cl::desc("leave accesses in their loops"));
static cl::opt<bool> no_sink_option("profalloc-no-sink", cl::desc("leave accesses before branches"));

namespace
{

/* A module that comes by twice (link-time optimisation by clang itself) is left alone the second time. */
const char *const mark = "profalloc.instrumented";

Options read_options()
{
    Options options;
    options.map = map_option;
    options.anywhere = anywhere_option;
    options.merge = !no_merge_option;
    options.hoist = !no_hoist_option;
    options.sink = !no_sink_option;
    auto text = sys::Process::GetEnv("PROFALLOC_PASS_OPTIONS");
    SmallVector<StringRef, 4> words;
    if (text) {
        StringRef(*text).split(words, ',', -1, false);
    }
    for (StringRef word : words) {
        if (word == "map") {
            options.map = true;
        } else if (word == "anywhere") {
            options.anywhere = true;
        } else if (word == "no-merge") {
            options.merge = false;
        } else if (word == "no-hoist") {
            options.hoist = false;
        } else if (word == "no-sink") {
            options.sink = false;
        } else if (word == "no-share") {
            options.share_view = false;
        } else if (word == "verify") {
            options.verify = true;
        } else {
            errs() << "profalloc: PROFALLOC_PASS_OPTIONS has no '" << word << "'\n";
        }
    }
    return options;
}

/* What link_callback brings. */
bool is_ours(StringRef name)
{
    return name.startswith("pfa_access_") || name.startswith("__profalloc_");
}

/* A cycle with several entries is no loop to LLVM: how often its blocks are executed is not known from loops and dominators. */
bool has_other_cycles(const Function &function, const LoopInfo &loops)
{
    ReversePostOrderTraversal<const Function *> order(&function);
    return containsIrreducibleCFG<const BasicBlock *>(order, loops);
}

bool to_be_instrumented(const Function &function)
{
    return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
           !function.hasFnAttribute(Attribute::Naked) &&
           !function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) && !is_ours(function.getName());
}

/* Gives loops a block in front that leads nowhere else, and exits that nothing else leads to: places for what is told of all
 * turns. What is not used of it costs nothing: the code generator joins such blocks again. */
void simplify_loops(Function &function, FunctionAnalysisManager &manager)
{
    auto &dominators = manager.getResult<DominatorTreeAnalysis>(function);
    auto &loops = manager.getResult<LoopAnalysis>(function);
    auto &assumptions = manager.getResult<AssumptionAnalysis>(function);
    for (Loop *loop : loops) {
        simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr, false);
    }
    manager.invalidate(function, PreservedAnalyses::none());
}

bool instrument(Function &function, FunctionAnalysisManager &manager, Options options)
{
    auto &target = manager.getResult<TargetIRAnalysis>(function);
    Known known;
    options.hoist &= !function.hasOptNone();
    lower(function, target, known);
    manager.invalidate(function, PreservedAnalyses::none());
    if (options.hoist) {
        simplify_loops(function, manager);
    }
    Analyses analyses = {
        manager.getResult<DominatorTreeAnalysis>(function), manager.getResult<PostDominatorTreeAnalysis>(function),
        manager.getResult<LoopAnalysis>(function), manager.getResult<ScalarEvolutionAnalysis>(function),
        manager.getResult<TargetIRAnalysis>(function)};
    if (has_other_cycles(function, analyses.loops)) {
        options.across = options.hoist = options.share_view = false;
    }
    Groups groups = find_groups(function, analyses, known, options);
    if (options.hoist) {
        hoist(groups, analyses, options);
    }
    if (options.sink && options.merge && !options.map && !function.hasOptNone() && groups.size() < groups_max) {
        sink(groups, function, analyses);
    }
    emit(groups, function, analyses, options);
    manager.invalidate(function, PreservedAnalyses::none());
    return !groups.empty();
}

struct ProfallocPass : PassInfoMixin<ProfallocPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager)
    {
        if (module.getNamedMetadata(mark) || !has_callback(module)) {
            return PreservedAnalyses::all();
        }
        module.getOrInsertNamedMetadata(mark);
        Options options = read_options();
        auto &functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
        SmallVector<Function *, 64> todo;
        for (Function &function : module) {
            if (to_be_instrumented(function)) {
                todo.push_back(&function);
            }
        }
        bool any = false;
        for (Function *function : todo) {
            any |= instrument(*function, functions, options);
        }
        if (any) {
            link_callback(module);
            if (!options.map && (options.merge || options.hoist)) {
                mark_merged(module);
            }
        }
        if (options.verify && verifyModule(module, &errs())) {
            report_fatal_error("profalloc: the pass made an invalid module", false);
        }
        return PreservedAnalyses::none();
    }

    /* Also where nothing is optimised. */
    static bool isRequired()
    {
        return true;
    }
};

void add_to_pipelines(PassBuilder &builder)
{
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &manager, auto &&...) { manager.addPass(ProfallocPass()); });
    builder.registerPipelineParsingCallback(
        [](StringRef name, ModulePassManager &manager, ArrayRef<PassBuilder::PipelineElement>) {
            if (name != "profalloc") {
                return false;
            }
            manager.addPass(ProfallocPass());
            return true;
        });
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "profalloc", PFA_VERSION, add_to_pipelines};
}
