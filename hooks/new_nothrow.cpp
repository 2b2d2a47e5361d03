// Owns the one thing about operator new that only C++ can do: the nothrow forms return NULL also when the new-handler
// throws, so somebody has to catch. The C++ runtime's symbols are weak: a program without one never comes here.
extern "C" bool pfa_new_ask_quietly(void (*handler)());

__asm__(".weak __cxa_begin_catch\n.weak __cxa_end_catch\n.weak __gxx_personality_v0");

extern "C" bool pfa_new_ask_quietly(void (*handler)())
{
    try {
        handler();
        return true;
    } catch (...) {
        return false;
    }
}
