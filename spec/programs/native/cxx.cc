// Objects of C++ that are lost.

#include <ruby.h>

#include <map>
#include <string>

static char *volatile kept;

// Loses `count` arrays of `bytes`.
static VALUE lose(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--)
        kept = new char[NUM2SIZET(bytes)];
    kept = nullptr;
    return Qnil;
}

// Builds a map of strings, and frees it.
static VALUE churn(VALUE self, VALUE count)
{
    std::map<long, std::string> all;
    for (long left = NUM2LONG(count); left > 0; left--)
        all[left] = std::string(100, 'x');
    return SIZET2NUM(all.size());
}

extern "C" void Init_cxx(void)
{
    VALUE cxx = rb_define_module("Cxx");
    rb_define_singleton_method(cxx, "lose", RUBY_METHOD_FUNC(lose), 2);
    rb_define_singleton_method(cxx, "churn", RUBY_METHOD_FUNC(churn), 1);
}
