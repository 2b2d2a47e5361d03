// Memoro's case study of protobuf: one message of 1000 numbers and five parts with as many is parsed a thousand times, each time into
// a new one, on the heap or in an arena ("parse arena").
#include "record.pb.h"

#include <cstdio>
#include <cstring>
#include <google/protobuf/arena.h>

enum { NUMBERS = 1000, PARTS = 5, TIMES = 1000 };

static std::string make_bytes()
{
    Record record;
    record.set_name("a name that is too long to be kept inside of a string");
    for (int i = 0; i < NUMBERS; i++) {
        record.add_values(7 * i);
    }
    for (int i = 0; i < PARTS; i++) {
        Part *part = record.add_parts();
        for (int j = 0; j < NUMBERS; j++) {
            part->add_values(i * j);
        }
    }
    return record.SerializeAsString();
}

static long sum_up(const Record &record)
{
    long sum = static_cast<long>(record.name().size());
    for (int value : record.values()) {
        sum += value;
    }
    for (const Part &part : record.parts()) {
        for (int value : part.values()) {
            sum += value;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    bool in_arena = argc > 1 && strcmp(argv[1], "arena") == 0;
    std::string bytes = make_bytes();
    long sum = 0;
    for (int i = 0; i < TIMES; i++) {
        if (in_arena) {
            google::protobuf::Arena arena;
            Record *record = google::protobuf::Arena::CreateMessage<Record>(&arena);
            sum += record->ParseFromString(bytes) ? sum_up(*record) : 0;
        } else {
            Record *record = new Record;
            sum += record->ParseFromString(bytes) ? sum_up(*record) : 0;
            delete record;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
