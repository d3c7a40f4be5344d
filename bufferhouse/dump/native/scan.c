/* Reads buffer-assignment dumps into columns, strictly, in one pass.

   The grammar is that of ../grammar.py, the assertions are those of ../parse.py, and the numbers are those of
   bufferhouse/tabulate: a dump that is taken here gives the same rows there. A cursor only moves over a literal that
   was compared or a token whose form was checked. So either every byte of a dump is accounted for, or the dump is not
   taken: then its rows are taken back, and the reader in Python reads it and says what is wrong with it.

   The bytes come from strangers. A byte is read only after the check that it lies before the end; sums and sizes are
   checked for overflow; a dump is not taken if an allocation fails; no function is recursive; every table of words is
   hashed with a seed that only the caller knows; the time is n log n, and the memory a multiple of the text. */

#define _GNU_SOURCE /* memmem */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define NONE INT64_MIN        /* a cell of numbers in which nothing is printed */
#define NO_WORD ((int32_t)-1) /* the same in a cell of words */
#define LARGEST_SIZE (INT64_C(1) << 53)
#define MOST_WORDS (INT64_C(1) << 30)

typedef const uint8_t *Bytes;

/* ---- The tables: X(kind, name) declares a column. --------------------------------------------------------------- */

typedef int64_t Number;
typedef int64_t Optional; /* a number, NONE where none is printed */
typedef int32_t Word;     /* a place in a list of words, NO_WORD where nothing is printed */
typedef int8_t Flag;      /* or a small number */
enum { KIND_Number, KIND_Optional, KIND_Word, KIND_Flag };

#define ALLOCATIONS(X)                                                                                               \
    X(Number, dump_id) X(Number, allocation_index) X(Number, size_bytes) X(Number, memory_space)                     \
    X(Optional, page) X(Word, pointer) X(Flag, is_constant) X(Flag, is_thread_local)                                 \
    X(Flag, is_maybe_live_out) X(Optional, parameter_number) X(Word, parameter_shape_index)                          \
    X(Optional, parameter_shape_id) X(Optional, output_shape_id) X(Flag, has_strict_overlap)
#define VALUES(X)                                                                                                    \
    X(Number, dump_id) X(Number, value_id) X(Number, instruction_id) X(Word, shape_index) X(Flag, is_phi)            \
    X(Optional, memory_space) X(Number, shape_id) X(Number, allocation_index) X(Number, offset_bytes)                \
    X(Number, size_bytes) X(Flag, uses_state) X(Number, instruction_text_id)
#define FURTHER_POSITIONS(X)                                                                                         \
    X(Number, dump_id) X(Number, value_id) X(Number, ordinal) X(Number, instruction_id) X(Word, shape_index)
#define USES(X)                                                                                                      \
    X(Number, dump_id) X(Number, value_id) X(Number, ordinal) X(Number, instruction_id)                              \
    X(Number, operand_number) X(Word, operand_shape_index)
#define INSTRUCTIONS(X) X(Number, dump_id) X(Number, instruction_id) X(Optional, schedule_position)
#define TEXTS(X)                                                                                                     \
    X(Number, dump_id) X(Number, instruction_text_id) X(Number, instruction_id) X(Word, opcode)                      \
    X(Word, op_name) X(Word, source_file) X(Optional, source_line) X(Optional, stack_frame_id)                       \
    X(Word, custom_call_target) X(Word, result_shape) X(Number, operands_end) X(Flag, is_uncommon)
#define OPERANDS(X) X(Number, instruction_id)
#define LIVE_RANGES(X)                                                                                               \
    X(Number, dump_id) X(Number, ordinal) X(Number, instruction_id) X(Word, shape_index)                             \
    X(Number, start_position) X(Number, end_position)
#define PEAK_BUFFERS(X)                                                                                              \
    X(Number, dump_id) X(Number, ordinal) X(Number, instruction_id) X(Word, shape_index)                             \
    X(Number, listed_bytes) X(Optional, cumulative_bytes)
#define DUMPS(X)                                                                                                     \
    X(Number, dump_id) X(Number, allocations) X(Number, values) X(Flag, is_split) X(Number, total_bytes)             \
    X(Word, total_human) X(Number, max_position) X(Optional, reported_peak_position) X(Flag, is_unbounded)           \
    X(Flag, has_pointers) X(Flag, has_pages) X(Flag, is_glued) X(Flag, has_instruction_space) X(Flag, peak_form)     \
    X(Flag, none_form) X(Word, stack_trace) X(Optional, trailing_allocations) X(Optional, trailing_values)           \
    X(Number, trailing_live_range)

#define TABLES(X)                                                                                                    \
    X(ALLOCATIONS, allocations) X(VALUES, hlo_values) X(FURTHER_POSITIONS, further_positions) X(USES, uses)          \
    X(INSTRUCTIONS, instructions) X(TEXTS, instruction_texts) X(OPERANDS, operands) X(LIVE_RANGES, live_ranges)      \
    X(PEAK_BUFFERS, peak_buffers) X(DUMPS, dumps)

/* Distinct texts, numbered from 0: those before `instruction_text` in the whole batch, the others in each dump. */
#define WORD_LISTS(X)                                                                                                \
    X(shape) X(result_shape) X(shape_index) X(pointer) X(opcode) X(op_name) X(source_file) X(custom_call_target)     \
    X(total_human) X(stack_trace) X(instruction_text) X(instruction_name) X(range_key)

#define NUMBER_OF_WORDS(name) WORDS_##name,
enum { WORD_LISTS(NUMBER_OF_WORDS) WORDS };
#define FIRST_OF_A_DUMP WORDS_instruction_text

typedef struct {
    uint32_t hash, id, generation; /* in use if its generation is that of its list */
} Slot;

typedef struct {
    Slot *slots;
    uint64_t mask;
    uint32_t generation;
    int64_t first, count, capacity; /* of the current dump, of all, and for how many there is room */
    int64_t *ends;                  /* count + 1 of them: where each text begins, and the end of the last */
    uint32_t *hashes;
    uint8_t *data;
    int64_t data_capacity;
} Words;

#define CELLS(kind, name) kind *name;
#define TABLE(list, table)                                                                                           \
    struct {                                                                                                         \
        int64_t rows, capacity;                                                                                      \
        list(CELLS)                                                                                                  \
    } table;
#define NUMBER_OF_TABLE(list, table) TABLE_##table,
enum { TABLES(NUMBER_OF_TABLE) TABLE_COUNT };

typedef struct {
    void *at;
    int64_t bytes;
} Scratch;

enum { HEAD, NEXT, TAKEN, ORDER, SLICES, ENDS, LOWS, HIGHS, BITS, UNESCAPED, SCRATCHES };

typedef struct {
    int64_t rows[TABLE_COUNT], words[WORDS];
} Mark;

typedef struct {
    TABLES(TABLE)
    Words words[WORDS];
    Scratch scratch[SCRATCHES];
    Mark mark; /* where the last dump begins */
    uint8_t *bits; /* of the columns that have absent cells, one behind the other, once all dumps are read */
    uint64_t seed;
    int64_t until_failure; /* for tests: how many allocations succeed before one fails; negative if none fails */
} Scanner;

typedef struct {
    const char *name;
    int table;
    size_t at, width; /* of the pointer to the cells, and the bytes of a cell */
    int kind;
} Column;

#define DESCRIBED(table_name, kind, column_name)                                                                     \
    {#table_name "." #column_name, TABLE_##table_name, offsetof(Scanner, table_name.column_name), sizeof(kind),      \
     KIND_##kind},
#define X_ALLOCATIONS(k, c) DESCRIBED(allocations, k, c)
#define X_VALUES(k, c) DESCRIBED(hlo_values, k, c)
#define X_FURTHER_POSITIONS(k, c) DESCRIBED(further_positions, k, c)
#define X_USES(k, c) DESCRIBED(uses, k, c)
#define X_INSTRUCTIONS(k, c) DESCRIBED(instructions, k, c)
#define X_TEXTS(k, c) DESCRIBED(instruction_texts, k, c)
#define X_OPERANDS(k, c) DESCRIBED(operands, k, c)
#define X_LIVE_RANGES(k, c) DESCRIBED(live_ranges, k, c)
#define X_PEAK_BUFFERS(k, c) DESCRIBED(peak_buffers, k, c)
#define X_DUMPS(k, c) DESCRIBED(dumps, k, c)

static const Column columns[] = {
    ALLOCATIONS(X_ALLOCATIONS) VALUES(X_VALUES) FURTHER_POSITIONS(X_FURTHER_POSITIONS) USES(X_USES)
    INSTRUCTIONS(X_INSTRUCTIONS) TEXTS(X_TEXTS) OPERANDS(X_OPERANDS) LIVE_RANGES(X_LIVE_RANGES)
    PEAK_BUFFERS(X_PEAK_BUFFERS) DUMPS(X_DUMPS)
};
#define COLUMN_COUNT ((int64_t)(sizeof columns / sizeof *columns))

#define ROWS_OF(list, table) offsetof(Scanner, table.rows),
static const size_t counts_of[] = {TABLES(ROWS_OF)}; /* rows, and behind them the capacity */

#define NAME_OF(name) #name,
static const char *const word_names[] = {WORD_LISTS(NAME_OF)};

/* ---- Memory: each of these returns false, and changes nothing, if there is none. -------------------------------- */

static bool resize(Scanner *s, void **cells, int64_t count, size_t width) {
    size_t bytes;
    if (count < 0 || (uint64_t)count > SIZE_MAX || __builtin_mul_overflow((size_t)count, width, &bytes)) return false;
    if (s->until_failure >= 0 && s->until_failure-- == 0) return false;
    void *found = realloc(*cells, bytes ? bytes : 1);
    if (!found) return false;
    *cells = found;
    return true;
}

static void **cells_of(Scanner *s, const Column *column) { return (void **)((char *)s + column->at); }

static int64_t *counts(Scanner *s, int table) { return (int64_t *)((char *)s + counts_of[table]); }

static bool grow(Scanner *s, int table) {
    int64_t *count = counts(s, table), capacity;
    if (__builtin_mul_overflow(count[1] ? count[1] : 128, 2, &capacity)) return false;
    for (int64_t i = 0; i < COLUMN_COUNT; i++)
        if (columns[i].table == table && !resize(s, cells_of(s, &columns[i]), capacity, columns[i].width)) return false;
    count[1] = capacity; /* of all columns, and only now that each has it */
    return true;
}

/* Room for one more row; its cells are then set one by one, and the row is counted last. */
#define ROOM(table) (s->table.rows < s->table.capacity || grow(s, TABLE_##table))

static void *scratch(Scanner *s, int which, int64_t count, size_t width) {
    Scratch *one = &s->scratch[which];
    int64_t bytes;
    if (__builtin_mul_overflow(count, (int64_t)width, &bytes)) return NULL;
    if (bytes > one->bytes || !one->at) {
        if (!resize(s, &one->at, bytes, 1)) return NULL;
        one->bytes = bytes;
    }
    return one->at;
}

/* ---- Words ------------------------------------------------------------------------------------------------------ */

static inline uint64_t folded(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t hash_of(const Scanner *s, Bytes text, int64_t bytes) {
    uint64_t hash = s->seed, word;
    int64_t left = bytes;
    for (; left > 8; left -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = folded(hash ^ word, s->seed ^ UINT64_C(0x9E3779B97F4A7C15));
    }
    word = 0;
    if (left > 0) memcpy(&word, text, (size_t)left);
    hash = folded(hash ^ word, s->seed ^ UINT64_C(0xC2B2AE3D27D4EB4F) ^ (uint64_t)bytes);
    return (uint32_t)(hash ^ (hash >> 32));
}

/* In the order of the numbers, so that the last words can be taken away again. */
static bool rehash(Scanner *s, Words *w) {
    uint64_t size = w->slots ? (w->mask + 1) * 2 : 256;
    void *slots = NULL;
    if (size > (uint64_t)MOST_WORDS * 4 || !resize(s, &slots, (int64_t)size, sizeof(Slot))) return false;
    memset(slots, 0, size * sizeof(Slot));
    free(w->slots);
    w->slots = slots;
    w->mask = size - 1;
    w->generation = 1;
    for (int64_t id = w->first; id < w->count; id++) {
        uint64_t k = w->hashes[id] & w->mask;
        while (w->slots[k].generation) k = (k + 1) & w->mask;
        w->slots[k] = (Slot){w->hashes[id], (uint32_t)id, 1};
    }
    return true;
}

static bool reserve_word(Scanner *s, Words *w, int64_t bytes) {
    if (w->count >= MOST_WORDS) return false;
    if (w->count + 1 >= w->capacity) {
        int64_t capacity = w->capacity ? w->capacity * 2 : 64;
        bool is_new = !w->ends;
        if (!resize(s, (void **)&w->ends, capacity + 1, sizeof *w->ends)) return false;
        if (is_new) w->ends[0] = 0;
        if (!resize(s, (void **)&w->hashes, capacity, sizeof *w->hashes)) return false;
        w->capacity = capacity;
    }
    int64_t needed, capacity = w->data_capacity ? w->data_capacity : 1024;
    if (__builtin_add_overflow(w->ends[w->count], bytes, &needed)) return false;
    if (needed <= w->data_capacity) return true;
    while (capacity < needed)
        if (__builtin_mul_overflow(capacity, 2, &capacity)) return false;
    if (!resize(s, (void **)&w->data, capacity, 1)) return false;
    w->data_capacity = capacity;
    return true;
}

/* The number of a text, -1 if it has none; then `hash` and `slot` say where to add it. */
static int64_t number_of(const Scanner *s, const Words *w, Bytes text, int64_t bytes, uint32_t *hash, uint64_t *slot) {
    *hash = hash_of(s, text, bytes);
    if (!w->slots) return -1;
    uint64_t k = *hash & w->mask;
    for (; w->slots[k].generation == w->generation; k = (k + 1) & w->mask) {
        if (w->slots[k].hash != *hash) continue;
        int64_t id = w->slots[k].id, from = w->ends[id];
        if (w->ends[id + 1] - from == bytes && (!bytes || !memcmp(w->data + from, text, (size_t)bytes)))
            return id - w->first;
    }
    *slot = k;
    return -1;
}

static int64_t known(const Scanner *s, int list, Bytes text, int64_t bytes) {
    uint32_t hash;
    uint64_t slot;
    return number_of(s, &s->words[list], text, bytes, &hash, &slot);
}

/* The number of a text; a new text gets one. -1 if there is no memory. */
static int64_t numbered(Scanner *s, int list, Bytes text, int64_t bytes) {
    Words *w = &s->words[list];
    uint32_t hash;
    uint64_t slot;
    if ((!w->slots || (uint64_t)(w->count - w->first + 1) * 2 > w->mask) && !rehash(s, w)) return -1;
    int64_t id = number_of(s, w, text, bytes, &hash, &slot);
    if (id >= 0) return id;
    if (!reserve_word(s, w, bytes)) return -1;
    int64_t from = w->ends[w->count];
    if (bytes) memcpy(w->data + from, text, (size_t)bytes);
    w->ends[w->count + 1] = from + bytes;
    w->hashes[w->count] = hash;
    w->slots[slot] = (Slot){hash, (uint32_t)w->count, w->generation};
    return w->count++ - w->first;
}

/* Forgets all words, where a new dump begins: their texts are kept, and numbers begin at 0 again. */
static void begin_words(Words *w) {
    w->first = w->count;
    if (!w->slots) return;
    if (++w->generation == 0) { /* after 2^32 dumps the oldest slots would seem to be in use */
        memset(w->slots, 0, (w->mask + 1) * sizeof(Slot));
        w->generation = 1;
    }
}

/* Removes words of the whole batch, the last ones first: no slot was moved for a word that came later. */
static void take_words_back(Words *w, int64_t count) {
    while (w->count > count) {
        uint32_t id = (uint32_t)--w->count;
        uint64_t k = w->hashes[id] & w->mask;
        while (w->slots[k].generation == w->generation && w->slots[k].id != id) k = (k + 1) & w->mask;
        w->slots[k].generation = 0;
    }
}

/* ---- Tokens: each moves the cursor behind what it read, or returns that it does not stand there. ---------------- */

typedef struct {
    Bytes at, end;
} Text;

static inline bool reads(Text *t, const char *literal, size_t bytes) {
    if ((size_t)(t->end - t->at) < bytes || memcmp(t->at, literal, bytes)) return false;
    t->at += bytes;
    return true;
}
#define READS(t, literal) reads(t, literal, sizeof(literal) - 1)

static inline bool is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }
static inline bool is_lower(uint8_t c) { return (uint8_t)(c - 'a') < 26; }
static inline bool is_letter(uint8_t c) { return (uint8_t)((c | 0x20) - 'a') < 26; }
static inline bool is_in_name(uint8_t c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; }
/* Printable, and neither `:` nor `|`. */
static inline bool is_in_shape(uint8_t c) { return c >= ' ' && c <= '~' && c != ':' && c != '|'; }

/* 0 to 2^63 - 1, without sign and leading zeros. */
static bool integer(Text *t, int64_t *number) {
    Bytes p = t->at;
    int64_t found = 0;
    while (p < t->end && is_digit(*p)) {
        if (__builtin_mul_overflow(found, 10, &found) || __builtin_add_overflow(found, *p - '0', &found)) return false;
        p++;
    }
    if (p == t->at || (*t->at == '0' && p - t->at > 1)) return false;
    t->at = p;
    *number = found;
    return true;
}

static bool size(Text *t, int64_t *number) { return integer(t, number) && *number <= LARGEST_SIZE; }

/* Up to 18 digits, leading zeros or not, and no digit behind them. */
static bool digits(Text *t, int64_t *number) {
    Bytes p = t->at;
    int64_t found = 0;
    while (p < t->end && is_digit(*p)) {
        if (p - t->at == 18) return false;
        found = found * 10 + (*p++ - '0');
    }
    if (p == t->at) return false;
    t->at = p;
    *number = found;
    return true;
}

static bool name(Text *t, Bytes *from, int64_t *bytes) {
    Bytes p = t->at;
    if (p >= t->end || !(is_letter(*p) || *p == '_')) return false;
    while (p < t->end && is_in_name(*p)) p++;
    *from = t->at;
    *bytes = p - t->at;
    t->at = p;
    return true;
}

static bool instruction(Scanner *s, Text *t, int64_t *id) {
    Bytes from;
    int64_t bytes;
    return name(t, &from, &bytes) && (*id = numbered(s, WORDS_instruction_name, from, bytes)) >= 0;
}

/* One of the schedule: the instructions that were numbered first. */
static bool scheduled(Scanner *s, Text *t, int64_t scheduled_count, int64_t *id) {
    Bytes from;
    int64_t bytes;
    if (!name(t, &from, &bytes)) return false;
    *id = known(s, WORDS_instruction_name, from, bytes);
    return *id >= 0 && *id < scheduled_count;
}

/* `{}`, `{0,1}` */
static bool shape_index(Scanner *s, Text *t, int32_t *id) {
    Bytes from = t->at;
    int64_t number;
    if (!READS(t, "{")) return false;
    if (!READS(t, "}")) {
        do {
            if (!integer(t, &number)) return false;
        } while (READS(t, ","));
        if (!READS(t, "}")) return false;
    }
    int64_t found = numbered(s, WORDS_shape_index, from, t->at - from);
    *id = (int32_t)found;
    return found >= 0;
}

static bool optional_shape_index(Scanner *s, Text *t, int32_t *id) {
    *id = NO_WORD;
    return t->at >= t->end || *t->at != '{' || shape_index(s, t, id);
}

static bool spaced_shape_index(Scanner *s, Text *t, int32_t *id) {
    *id = NO_WORD;
    return !READS(t, " ") || shape_index(s, t, id);
}

static bool shape(Scanner *s, Text *t, int64_t *id) {
    Bytes p = t->at;
    if (p >= t->end || !is_in_shape(*p)) return false;
    while (p < t->end && (is_in_shape(*p) || (*p == ':' && !(p + 1 < t->end && p[1] == ' ')))) p++;
    *id = numbered(s, WORDS_shape, t->at, p - t->at);
    t->at = p;
    return *id >= 0;
}

/* 18.5KiB */
static bool human(Text *t) {
    Bytes from = t->at;
    while (t->at < t->end && is_digit(*t->at)) t->at++;
    if (t->at == from) return false;
    if (READS(t, ".")) {
        from = t->at;
        while (t->at < t->end && is_digit(*t->at)) t->at++;
        if (t->at == from) return false;
    }
    if (READS(t, "B")) return true;
    if (t->at >= t->end || !memchr("KMGTPE", *t->at, 6)) return false;
    t->at++;
    return READS(t, "iB");
}

typedef struct {
    int64_t value_id, instruction_id, memory_space;
    int32_t shape_index;
    int8_t is_phi;
} Head;

/* `<70 while.1{1} (phi) @0>` */
static bool head(Scanner *s, Text *t, Head *h) {
    h->memory_space = NONE;
    if (!READS(t, "<") || !integer(t, &h->value_id) || !READS(t, " ") || !instruction(s, t, &h->instruction_id)
        || !optional_shape_index(s, t, &h->shape_index))
        return false;
    h->is_phi = READS(t, " (phi)");
    if (READS(t, " @") && !integer(t, &h->memory_space)) return false;
    return READS(t, ">");
}

/* The line feeds at the end of a file, and nothing else. */
static bool trailing(Text *t, int64_t *count) {
    Bytes from = t->at;
    while (t->at < t->end && *t->at == '\n') t->at++;
    *count = t->at - from;
    return t->at == t->end;
}

static Bytes found(Bytes from, Bytes end, const char *what, size_t bytes) {
    return from < end ? memmem(from, (size_t)(end - from), what, bytes) : NULL;
}
#define FOUND(from, end, literal) found(from, end, literal, sizeof(literal) - 1)

/* The last byte of its kind, NULL where there is none. */
static Bytes last_of(Bytes from, Bytes end, uint8_t byte) {
    while (end > from)
        if (*--end == byte) return end;
    return NULL;
}

/* ---- Allocations ------------------------------------------------------------------------------------------------ */

static bool value_line(Scanner *s, Text *t, int64_t allocation, int64_t *before) {
    Head h;
    int64_t size_bytes, offset_bytes, shape_id;
    if (!head(s, t, &h) || h.value_id <= *before || !READS(t, " (size=") || !size(t, &size_bytes)
        || !READS(t, ",offset=") || !size(t, &offset_bytes) || !READS(t, "): ") || !shape(s, t, &shape_id)
        || !READS(t, "\n") || !ROOM(hlo_values))
        return false;
    int64_t row = s->hlo_values.rows++;
    s->hlo_values.value_id[row] = *before = h.value_id;
    s->hlo_values.instruction_id[row] = h.instruction_id;
    s->hlo_values.shape_index[row] = h.shape_index;
    s->hlo_values.is_phi[row] = h.is_phi;
    s->hlo_values.memory_space[row] = h.memory_space;
    s->hlo_values.shape_id[row] = shape_id;
    s->hlo_values.allocation_index[row] = allocation;
    s->hlo_values.offset_bytes[row] = offset_bytes;
    s->hlo_values.size_bytes[row] = size_bytes;
    return true;
}

static bool page(Text *t, int64_t *number) {
    *number = NONE;
    if (!READS(t, ", page ")) return true;
    if (!READS(t, "-")) return integer(t, number);
    if (t->at < t->end && *t->at == '0') return false;
    if (!digits(t, number)) return false;
    *number = -*number;
    return true;
}

static bool pointer(Scanner *s, Text *t, int32_t *id) {
    Bytes from = t->at;
    *id = NO_WORD;
    if (!READS(t, "0x")) return true;
    while (t->at < t->end && (is_digit(*t->at) || (uint8_t)(*t->at - 'a') < 6)) t->at++;
    if (t->at - from < 3) return false;
    int64_t found_id = numbered(s, WORDS_pointer, from, t->at - from);
    *id = (int32_t)found_id;
    return found_id >= 0 && READS(t, ", ");
}

static bool header(Scanner *s, Text *t, int64_t number) {
    int64_t index, size_bytes, memory_space = 0, page_number, parameter = NONE, parameter_shape = NONE, output = NONE;
    int32_t pointer_id, parameter_index = NO_WORD;
    if (!READS(t, "allocation ") || !integer(t, &index) || index != number || !READS(t, ": ")
        || !pointer(s, t, &pointer_id) || !READS(t, "size ") || !size(t, &size_bytes))
        return false;
    if (READS(t, ", color ") && (!integer(t, &memory_space) || !memory_space)) return false;
    if (!page(t, &page_number)) return false;
    if (READS(t, ", parameter ")) {
        if (!integer(t, &parameter)) return false;
        if (READS(t, ", shape |") && (!shape(s, t, &parameter_shape) || !READS(t, "|"))) return false;
        if (!READS(t, " at ShapeIndex ") || !shape_index(s, t, &parameter_index)) return false;
    }
    if (READS(t, ", output shape is |") && (!shape(s, t, &output) || !READS(t, "|"))) return false;
    bool is_constant = READS(t, ", constant"), is_thread_local = READS(t, ", thread-local");
    bool is_live_out = READS(t, ", maybe-live-out"), is_temp = READS(t, ", preallocated-temp");
    /* IsPreallocatedTempBuffer is computed as "none of the other four". */
    bool has_flag = parameter != NONE || is_constant || is_thread_local || is_live_out;
    if (!READS(t, ":\n") || is_temp == has_flag || !ROOM(allocations)) return false;
    int64_t row = s->allocations.rows++;
    s->allocations.allocation_index[row] = number;
    s->allocations.size_bytes[row] = size_bytes;
    s->allocations.memory_space[row] = memory_space;
    s->allocations.page[row] = page_number;
    s->allocations.pointer[row] = pointer_id;
    s->allocations.is_constant[row] = is_constant;
    s->allocations.is_thread_local[row] = is_thread_local;
    s->allocations.is_maybe_live_out[row] = is_live_out;
    s->allocations.parameter_number[row] = parameter;
    s->allocations.parameter_shape_index[row] = parameter_index;
    s->allocations.parameter_shape_id[row] = parameter_shape;
    s->allocations.output_shape_id[row] = output;
    s->allocations.has_strict_overlap[row] = 0;
    return true;
}

static bool allocation_section(Scanner *s, Text *t) {
    if (!READS(t, "BufferAssignment:\n")) return false;
    int64_t number = 0;
    for (; t->at < t->end && *t->at != '\n'; number++) {
        if (!header(s, t, number)) return false;
        int64_t before = -1;
        while (READS(t, " value: "))
            if (!value_line(s, t, number, &before)) return false;
    }
    return number > 0;
}

typedef struct {
    int64_t value_id, row;
} ValuePlace;

static int by_value_id(const void *one, const void *other) {
    int64_t a = ((const ValuePlace *)one)->value_id, b = ((const ValuePlace *)other)->value_id;
    return (a > b) - (a < b);
}

/* Puts the values of a dump in the order of their ids; returns false if two have the same. */
static bool sort_values(Scanner *s, int64_t first) {
    int64_t count = s->hlo_values.rows - first, row = 1;
    const int64_t *ids = s->hlo_values.value_id + first;
    while (row < count && ids[row - 1] < ids[row]) row++;
    if (row >= count) return true;
    ValuePlace *places = scratch(s, ORDER, count, sizeof *places);
    int64_t *copy = scratch(s, HEAD, count, sizeof *copy);
    if (!places || !copy) return false;
    for (row = 0; row < count; row++) places[row] = (ValuePlace){ids[row], row};
    qsort(places, (size_t)count, sizeof *places, by_value_id);
    for (row = 1; row < count; row++)
        if (places[row - 1].value_id == places[row].value_id) return false;
    for (int64_t i = 0; i < COLUMN_COUNT; i++) { /* those that are read later hold nothing yet */
        if (columns[i].table != TABLE_hlo_values) continue;
        size_t width = columns[i].width;
        uint8_t *cells = (uint8_t *)*cells_of(s, &columns[i]) + (size_t)first * width;
        memcpy(copy, cells, (size_t)count * width);
        for (row = 0; row < count; row++)
            memcpy(cells + (size_t)row * width, (uint8_t *)copy + (size_t)places[row].row * width, width);
    }
    return true;
}

static bool totals(Scanner *s, Text *t, int64_t first, int64_t dump) {
    int64_t total, sum = 0;
    int64_t human_id = NO_WORD;
    if (!READS(t, "\nTotal bytes used: ") || !size(t, &total)) return false;
    if (READS(t, " (")) {
        Bytes from = t->at;
        if (!human(t) || (human_id = numbered(s, WORDS_total_human, from, t->at - from)) < 0 || !READS(t, ")"))
            return false;
    }
    for (int64_t row = first; row < s->allocations.rows; row++)
        if (__builtin_add_overflow(sum, s->allocations.size_bytes[row], &sum)) return false;
    s->dumps.total_bytes[dump] = total;
    s->dumps.total_human[dump] = (int32_t)human_id;
    return sum == total && READS(t, "\n\nUsed values:\n");
}

/* ---- Instruction texts, read as ../instruction_text.py reads them ----------------------------------------------- */

/* Behind the quote that opens: what stands before the one that closes. */
static bool quoted(Text *t, Text *inside, bool *is_escaped) {
    *is_escaped = false;
    inside->at = t->at;
    for (Bytes p = t->at; p < t->end; p++) {
        if (*p == '"') {
            inside->end = p;
            t->at = p + 1;
            return true;
        }
        if (*p == '\\') {
            *is_escaped = true;
            p++;
        }
    }
    return false;
}

/* An item that is not stored; false if it is not of the common form. */
static bool skipped(Text *t) {
    Text inside;
    bool is_escaped;
    if (!quoted(t, &inside, &is_escaped) || is_escaped) return false;
    (void)READS(t, " ");
    return true;
}

/* An item that is a text, without the escapes that stand for themselves; false if it has others, or is empty. */
static bool unescaped(Scanner *s, Text *t, int list, int64_t *id) {
    Text inside;
    bool is_escaped;
    if (!quoted(t, &inside, &is_escaped) || inside.at == inside.end) return false;
    (void)READS(t, " ");
    int64_t bytes = inside.end - inside.at;
    if (is_escaped) {
        uint8_t *plain = scratch(s, UNESCAPED, bytes, 1);
        if (!plain) return false;
        bytes = 0;
        for (Bytes p = inside.at; p < inside.end; p++) {
            if (*p == '\\') {
                if (++p >= inside.end || (*p != '\'' && *p != '"' && *p != '\\')) return false;
            }
            plain[bytes++] = *p;
        }
        inside.at = plain;
    }
    return (*id = numbered(s, list, inside.at, bytes)) >= 0;
}

static bool item(Text *t, int64_t *number) {
    if (!digits(t, number)) return false;
    return READS(t, " ") || (t->at < t->end && *t->at == '}');
}

typedef struct {
    int64_t op_name, source_file, source_line, stack_frame_id, custom_call_target;
} Metadata;

/* The items of `metadata={…}` in the order of OpMetadataToString (xla/hlo/ir/hlo_op_metadata.cc); else false. */
static bool metadata_items(Scanner *s, Text *t, Metadata *m) {
    int64_t other;
    if (READS(t, "op_type=\"") && !skipped(t)) return false;
    if (READS(t, "op_name=\"") && !unescaped(s, t, WORDS_op_name, &m->op_name)) return false;
    if (READS(t, "source_file=\"") && !unescaped(s, t, WORDS_source_file, &m->source_file)) return false;
    if (READS(t, "source_line=") && !item(t, &m->source_line)) return false;
    if (READS(t, "source_end_line=") && !item(t, &other)) return false;
    if (READS(t, "source_column=") && !item(t, &other)) return false;
    if (READS(t, "source_end_column=") && !item(t, &other)) return false;
    if (READS(t, "deduplicated_name=\"") && !skipped(t)) return false;
    if (READS(t, "stack_frame_id=") && !item(t, &m->stack_frame_id)) return false;
    if (READS(t, "scheduling_name=\"")) {
        Text inside;
        bool is_escaped;
        if (!quoted(t, &inside, &is_escaped) || is_escaped) return false;
    }
    return READS(t, "}");
}

/* Whether all brackets that are open at `from`, one of them, and all quotes are closed at `to`. */
static bool is_closed(Bytes from, Bytes to) {
    int64_t depth = 1, braces = 0;
    for (Bytes p = from; p < to; p++) switch (*p) {
        case '"':
            for (p++; p < to && *p != '"'; p++)
                if (*p == '\\') p++;
            if (p >= to) return false;
            break;
        case '{': braces++; break;
        case '}': braces--; break;
        case '(':
        case '[': depth += !braces; break;
        case ')':
        case ']': depth -= !braces; break;
        default: break;
        }
    return !depth && !braces;
}

/* The text behind the operands; false if the rules of the common form do not apply. `from` is behind the bracket
   that opens the operands. */
static bool behind_operands(Scanner *s, Text *t, Bytes from, bool is_custom_call, Metadata *m) {
    if (is_custom_call) {
        Text inside, target = {FOUND(from, t->end, ", custom_call_target=\""), t->end};
        bool is_escaped;
        if (target.at) {
            target.at += sizeof(", custom_call_target=\"") - 1;
            if (!quoted(&target, &inside, &is_escaped) || is_escaped) return false;
            m->custom_call_target = numbered(s, WORDS_custom_call_target, inside.at, inside.end - inside.at);
            if (m->custom_call_target < 0) return false;
        }
    }
    Bytes hit = FOUND(from, t->end, ", metadata={");
    if (!hit) return true;
    if (hit < t->at || !is_closed(from, hit)) return false;
    t->at = hit + sizeof(", metadata={") - 1;
    return metadata_items(s, t, m);
}

/* The names between the bracket before the cursor and the one that closes it. */
static bool operands(Scanner *s, Text *t) {
    int depth = 1;
    while (t->at < t->end) {
        switch (*t->at++) {
        case '(':
            if (++depth > 4) return false;
            break;
        case ')':
            if (!--depth) return true;
            break;
        case '"': return false;
        case '%': {
            int64_t id;
            Bytes from;
            int64_t bytes;
            if (!name(t, &from, &bytes)) break;
            if ((id = numbered(s, WORDS_instruction_name, from, bytes)) < 0 || !ROOM(operands)) return false;
            s->operands.instruction_id[s->operands.rows++] = id;
            break;
        }
        default: break;
        }
    }
    return false;
}

/* The first word, behind another one, that has a bracket behind it: in a shape only `b(` looks like that. */
static bool opcode(Text *t, Text *word) {
    for (bool is_first = true;; is_first = false) {
        if (!is_first && t->at < t->end && is_lower(*t->at)) {
            Bytes p = t->at + 1;
            while (p < t->end && (is_lower(*p) || is_digit(*p) || *p == '-')) p++;
            if (p - t->at > 1 && p < t->end && *p == '(') {
                *word = (Text){t->at, p};
                t->at = p + 1;
                return true;
            }
        }
        Bytes space = t->at < t->end ? memchr(t->at, ' ', (size_t)(t->end - t->at)) : NULL;
        if (!space || space == t->at) return false;
        t->at = space + 1;
    }
}

/* Reads a text that is new in its dump: `%name = shape opcode(operands), …`; the cursor is behind `%name = `. */
static bool instruction_text(Scanner *s, Text t, int64_t instruction_id) {
    Bytes shape_at = t.at;
    Text word;
    if (!opcode(&t, &word)) return false;
    Bytes from = t.at;
    int64_t opcode_id = numbered(s, WORDS_opcode, word.at, word.end - word.at);
    int64_t shape_id = numbered(s, WORDS_result_shape, shape_at, word.at - 1 - shape_at);
    if (opcode_id < 0 || shape_id < 0 || !operands(s, &t) || !ROOM(instruction_texts)) return false;
    Metadata m = {NO_WORD, NO_WORD, NONE, NONE, NO_WORD};
    bool is_custom_call = word.end - word.at >= 11 && !memcmp(word.at, "custom-call", 11);
    bool is_common = behind_operands(s, &t, from, is_custom_call, &m);
    int64_t row = s->instruction_texts.rows++;
    s->instruction_texts.instruction_id[row] = instruction_id;
    s->instruction_texts.opcode[row] = (int32_t)opcode_id;
    s->instruction_texts.op_name[row] = (int32_t)m.op_name;
    s->instruction_texts.source_file[row] = (int32_t)m.source_file;
    s->instruction_texts.source_line[row] = m.source_line;
    s->instruction_texts.stack_frame_id[row] = m.stack_frame_id;
    s->instruction_texts.custom_call_target[row] = (int32_t)m.custom_call_target;
    s->instruction_texts.result_shape[row] = (int32_t)shape_id;
    s->instruction_texts.operands_end[row] = s->operands.rows;
    s->instruction_texts.is_uncommon[row] = !is_common;
    return true;
}

/* ---- Used values ------------------------------------------------------------------------------------------------ */

/* The first position is the value itself. */
static bool position_lines(Scanner *s, Text *t, int64_t value) {
    int64_t ordinal = 0;
    for (; READS(t, "  "); ordinal++) {
        int64_t id;
        int32_t index;
        if (!instruction(s, t, &id) || !spaced_shape_index(s, t, &index) || !READS(t, "\n")) return false;
        if (!ordinal) {
            if (id != s->hlo_values.instruction_id[value] || index != s->hlo_values.shape_index[value]) return false;
            continue;
        }
        if (!ROOM(further_positions)) return false;
        int64_t row = s->further_positions.rows++;
        s->further_positions.value_id[row] = s->hlo_values.value_id[value];
        s->further_positions.ordinal[row] = ordinal;
        s->further_positions.instruction_id[row] = id;
        s->further_positions.shape_index[row] = index;
    }
    return ordinal > 0;
}

enum { USES_EMPTY, USES_LISTED, USES_UNINITIALIZED };
enum { NONE_FORM_EMPTY = 1, NONE_FORM_NONE = 2 }; /* how an empty list is printed: a dump with both is refused */

static bool use_lines(Scanner *s, Text *t, int64_t value_id, int8_t *state, int8_t *none_form) {
    *state = USES_UNINITIALIZED;
    if (READS(t, " uses are not initialized yet.\n")) return true;
    if (!READS(t, " uses:\n")) return false;
    *state = USES_EMPTY;
    if (READS(t, "  (none)\n")) {
        *none_form |= NONE_FORM_NONE;
        return true;
    }
    int64_t ordinal = 0;
    for (; READS(t, "  "); ordinal++) {
        int64_t id, operand_number;
        int32_t index;
        if (!instruction(s, t, &id) || !READS(t, ", operand ") || !integer(t, &operand_number)
            || !spaced_shape_index(s, t, &index) || !READS(t, "\n") || !ROOM(uses))
            return false;
        int64_t row = s->uses.rows++;
        s->uses.value_id[row] = value_id;
        s->uses.ordinal[row] = ordinal;
        s->uses.instruction_id[row] = id;
        s->uses.operand_number[row] = operand_number;
        s->uses.operand_shape_index[row] = index;
    }
    if (ordinal) *state = USES_LISTED;
    else *none_form |= NONE_FORM_EMPTY;
    return true;
}

/* The line of an instruction. If lines are glued, the head of the next value stands at its end: the last `<` opens
   it, because a head holds only one; the last line ends with the section. */
static bool instruction_line(Scanner *s, Text *t, int64_t row, bool is_glued, bool is_last, Head *next) {
    Bytes from = t->at, name_at, line_end = from < t->end ? memchr(from, '\n', (size_t)(t->end - from)) : NULL;
    int64_t name_bytes;
    if (!line_end && !(is_glued && is_last)) return false;
    if (!line_end) line_end = t->end;
    Text one = {from, line_end};
    if (!READS(&one, "%") || !name(&one, &name_at, &name_bytes) || !READS(&one, " = ")) return false;
    t->at = is_glued ? line_end : line_end + 1;
    if (is_glued && !is_last) {
        one.end = last_of(from, line_end, '<');
        if (!one.end) return false;
        Text glued = {one.end, line_end};
        if (!head(s, &glued, next) || glued.at != line_end) return false;
    }
    if (one.at >= one.end) return false;
    int64_t instruction_id = numbered(s, WORDS_instruction_name, name_at, name_bytes);
    int64_t before = s->words[WORDS_instruction_text].count;
    int64_t id = numbered(s, WORDS_instruction_text, from, one.end - from);
    if (instruction_id < 0 || id < 0) return false;
    s->hlo_values.instruction_text_id[row] = id;
    return s->words[WORDS_instruction_text].count == before || instruction_text(s, one, instruction_id);
}

static bool used_values(Scanner *s, Text *t, int64_t first, int64_t dump, bool is_glued) {
    int64_t count = s->hlo_values.rows;
    int8_t none_form = 0, has_space = -1;
    Head h;
    for (int64_t row = first; row < count; row++) {
        if (!(is_glued && row > first) && !head(s, t, &h)) return false;
        int64_t value_id = s->hlo_values.value_id[row];
        if (h.value_id != value_id || h.instruction_id != s->hlo_values.instruction_id[row]
            || h.shape_index != s->hlo_values.shape_index[row] || h.is_phi != s->hlo_values.is_phi[row]
            || h.memory_space != s->hlo_values.memory_space[row])
            return false;
        if (!READS(t, "\n positions:\n") || !position_lines(s, t, row)
            || !use_lines(s, t, value_id, &s->hlo_values.uses_state[row], &none_form)
            || !READS(t, " from instruction:"))
            return false;
        int8_t space = READS(t, " ");
        if (has_space >= 0 && has_space != space) return false;
        has_space = space;
        if (!instruction_line(s, t, row, is_glued, row + 1 == count, &h)) return false;
    }
    s->dumps.none_form[dump] = none_form;
    s->dumps.has_instruction_space[dump] = has_space;
    return none_form != (NONE_FORM_EMPTY | NONE_FORM_NONE);
}

/* ---- The live range section ------------------------------------------------------------------------------------- */

static bool schedule(Scanner *s, Text *t, int64_t dump) {
    int64_t max, number = 0, printed, id;
    if (!READS(t, "HloLiveRange (max ") || !integer(t, &max) || !READS(t, "):\n  InstructionSequence:\n")) return false;
    for (; READS(t, "    "); number++) {
        /* An instruction that stands here for the second time has a number already. */
        if (!integer(t, &printed) || printed != number || !READS(t, ":") || !instruction(s, t, &id) || id != number
            || !READS(t, "\n"))
            return false;
    }
    s->dumps.max_position[dump] = max;
    return number == max && READS(t, "  BufferLiveRange:\n");
}

static int64_t range_of(const Scanner *s, int64_t instruction_id, int32_t index) {
    int32_t key[2] = {(int32_t)instruction_id, index};
    return known(s, WORDS_range_key, (Bytes)key, sizeof key);
}

static bool live_ranges(Scanner *s, Text *t, int64_t max) {
    for (int64_t ordinal = 0; READS(t, "    "); ordinal++) {
        int64_t id, start, end;
        int32_t index;
        if (!scheduled(s, t, max, &id) || !shape_index(s, t, &index) || !READS(t, ":") || !integer(t, &start)
            || !READS(t, "-") || !integer(t, &end) || start > end || end > max || !READS(t, "\n")
            || !ROOM(live_ranges))
            return false;
        int32_t key[2] = {(int32_t)id, index};
        if (numbered(s, WORDS_range_key, (Bytes)key, sizeof key) != ordinal) return false;
        int64_t row = s->live_ranges.rows++;
        s->live_ranges.ordinal[row] = ordinal;
        s->live_ranges.instruction_id[row] = id;
        s->live_ranges.shape_index[row] = index;
        s->live_ranges.start_position[row] = start;
        s->live_ranges.end_position[row] = end;
    }
    return true;
}

/* The ranges that cover the peak and have no line yet. Lines without an index stand in the order of the ranges. */
typedef struct {
    int64_t *first, *next; /* of each instruction, and of each range that of the same instruction behind it */
    uint8_t *is_pending;
    int64_t count;
} Covering;

static bool covering_ranges(Scanner *s, int64_t first, int64_t max, int64_t peak, Covering *c) {
    int64_t ranges = s->live_ranges.rows - first;
    c->first = scratch(s, HEAD, max, sizeof *c->first);
    c->next = scratch(s, NEXT, ranges, sizeof *c->next);
    c->is_pending = scratch(s, TAKEN, ranges, 1);
    c->count = 0;
    if (!c->first || !c->next || !c->is_pending) return false;
    for (int64_t id = 0; id < max; id++) c->first[id] = -1;
    for (int64_t range = ranges - 1; range >= 0; range--) {
        int64_t row = first + range, id = s->live_ranges.instruction_id[row];
        c->is_pending[range] = s->live_ranges.start_position[row] <= peak && peak <= s->live_ranges.end_position[row];
        if (!c->is_pending[range]) continue;
        c->next[range] = c->first[id];
        c->first[id] = range;
        c->count++;
    }
    return true;
}

enum { PEAK_NONE, PEAK_NAME, PEAK_INDEXED, PEAK_CUMULATIVE };

static bool peak_line(Scanner *s, Text *t, int64_t first, int64_t max, Covering *c, int64_t ordinal, int64_t *sum,
                      int8_t *form) {
    int64_t id, listed, cumulative = NONE, range;
    int32_t index;
    if (!scheduled(s, t, max, &id) || !optional_shape_index(s, t, &index) || !READS(t, ": ") || !size(t, &listed)
        || !READS(t, " bytes"))
        return false;
    *form = index == NO_WORD ? PEAK_NAME : PEAK_INDEXED;
    if (READS(t, " (cumulative: ")) {
        if (*form == PEAK_NAME || !size(t, &cumulative) || !READS(t, " bytes)")) return false;
        if (__builtin_add_overflow(*sum, listed, sum) || cumulative != *sum) return false;
        *form = PEAK_CUMULATIVE;
    }
    if (!READS(t, "\n") || !ROOM(peak_buffers)) return false;
    if (*form == PEAK_NAME) {
        range = c->first[id];
        if (range >= 0) c->first[id] = c->next[range];
    } else {
        range = range_of(s, id, index);
        if (range >= 0 && !c->is_pending[range]) return false;
        if (range >= 0) c->is_pending[range] = 0;
    }
    if (range < 0) return false;
    int64_t row = s->peak_buffers.rows++;
    s->peak_buffers.ordinal[row] = ordinal;
    s->peak_buffers.instruction_id[row] = id;
    s->peak_buffers.shape_index[row] = s->live_ranges.shape_index[first + range];
    s->peak_buffers.listed_bytes[row] = listed;
    s->peak_buffers.cumulative_bytes[row] = cumulative;
    return true;
}

static bool peak(Scanner *s, Text *t, int64_t first, int64_t max, int64_t dump) {
    int64_t position, ordinal = 0, sum = 0;
    int8_t form = PEAK_NONE, other;
    Covering c;
    s->dumps.reported_peak_position[dump] = NONE;
    s->dumps.peak_form[dump] = PEAK_NONE;
    s->dumps.is_unbounded[dump] = READS(t, "  Peak memory could not be determined due to unbounded dynamic shape.\n");
    if (s->dumps.is_unbounded[dump]) return true;
    if (!READS(t, "  Live ranges at ") || !integer(t, &position) || position > max || !READS(t, " (peak):\n")
        || !covering_ranges(s, first, max, position, &c))
        return false;
    for (; READS(t, "    "); ordinal++) {
        if (!peak_line(s, t, first, max, &c, ordinal, &sum, &other) || (ordinal && other != form)) return false;
        form = other;
    }
    s->dumps.reported_peak_position[dump] = position;
    s->dumps.peak_form[dump] = form;
    return ordinal == c.count;
}

/* `1 179 648`: up to six groups of digits, so that it is below 10^18 */
static bool spaced(Text *t, int64_t *number) {
    Bytes from = t->at;
    int64_t found_number = 0;
    while (t->at < t->end && is_digit(*t->at) && t->at - from < 3) found_number = found_number * 10 + (*t->at++ - '0');
    if (t->at == from || (*from == '0' && t->at - from > 1)) return false;
    if (*from != '0')
        for (int group = 0; group < 5 && t->end - t->at > 3 && *t->at == ' ' && is_digit(t->at[1])
                            && is_digit(t->at[2]) && is_digit(t->at[3]);
             group++, t->at += 4)
            found_number = found_number * 1000 + (t->at[1] - '0') * 100 + (t->at[2] - '0') * 10 + (t->at[3] - '0');
    *number = found_number;
    return true;
}

/* ` (66.7%, total: … bytes, current: … bytes, remaining: … bytes)` */
static bool suffix(Text *t, int64_t *current, int64_t *remaining) {
    int64_t total;
    Bytes from;
    if (!READS(t, " (")) return false;
    for (from = t->at; t->at < t->end && is_digit(*t->at);) t->at++;
    if (t->at == from || !READS(t, ".") || t->at >= t->end || !is_digit(*t->at)) return false;
    t->at++;
    return READS(t, "%, total: ") && spaced(t, &total) && READS(t, " bytes, current: ") && spaced(t, current)
           && READS(t, " bytes, remaining: ") && spaced(t, remaining) && READS(t, " bytes)") && t->at == t->end;
}

/* `  │   ├── `, as of ../stack_trace.py */
static bool branch(Text t) {
    if (!READS(&t, "  ")) return false;
    while (READS(&t, "    ") || READS(&t, "\xe2\x94\x82   "));
    return READS(&t, "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 ") || READS(&t, "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 ");
}

/* The tree, up to the end of the file. Labels may hold line feeds and whole fake nodes: a line ends a node if its
   `remaining` is right and another node begins behind it. */
static bool stack_trace(Scanner *s, Text *t, int64_t dump) {
    Bytes from = t->at, end = t->end, node;
    int64_t remaining, current, printed;
    s->dumps.stack_trace[dump] = NO_WORD;
    if (s->dumps.is_unbounded[dump] || !READS(t, "  Stack trace breakdown for peak usage: ")) return true;
    if (!spaced(t, &remaining) || !READS(t, " bytes\n") || end[-1] != '\n') return false;
    while (end > t->at && end[-2] == '\n') end--; /* one line feed belongs to the tree */
    node = t->at;
    bool is_first = true;
    for (Bytes line = node, line_end; line < end; line = line_end + 1) {
        line_end = memchr(line, '\n', (size_t)(end - line));
        if (!line_end) return false;
        Bytes bracket = last_of(line, line_end, '(');
        if (!bracket || bracket == line) continue;
        Text last = {bracket - 1, line_end}, behind = {line_end + 1, t->end};
        if (!suffix(&last, &current, &printed) || remaining - current != printed) continue;
        if (line_end + 1 != end && !branch(behind)) continue;
        if (is_first && (end - node < 4 || memcmp(node, "    ", 4))) return false;
        is_first = false;
        remaining = printed;
        node = line_end + 1;
    }
    if (node != end || remaining) return false;
    int64_t id = numbered(s, WORDS_stack_trace, from, end - from);
    s->dumps.stack_trace[dump] = (int32_t)id;
    t->at = end;
    return id >= 0;
}

/* ---- Strict overlaps: the sweep of bufferhouse/tabulate/overlap.py ---------------------------------------------- */

typedef struct {
    int64_t start, end, low, high, rank; /* alive from start to end, both included; the rank is that by `low` */
} Slice;

static int compared(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_number(const void *one, const void *other) {
    return compared(*(const int64_t *)one, *(const int64_t *)other);
}

static int by_low(const void *one, const void *other) {
    return compared(((const Slice *)one)->low, ((const Slice *)other)->low);
}

static int by_start(const void *one, const void *other) {
    return compared(((const Slice *)one)->start, ((const Slice *)other)->start);
}

static int by_end(const void *one, const void *other) {
    return compared(((const Slice *)one)->end, ((const Slice *)other)->end);
}

/* A set of ranks: bits, and above them bits that say which words below hold some. */
enum { MOST_LEVELS = 8 };
typedef struct {
    uint64_t *levels[MOST_LEVELS];
    int count;
} Ranks;

static bool empty_ranks(Scanner *s, int64_t size, Ranks *r) {
    int64_t words = 0, level = size;
    r->count = 0;
    do {
        level = (level + 63) / 64;
        words += level;
    } while (level > 1);
    uint64_t *bits = scratch(s, BITS, words, sizeof *bits);
    if (!bits) return false;
    memset(bits, 0, (size_t)words * sizeof *bits);
    level = size;
    do {
        if (r->count == MOST_LEVELS) return false;
        level = (level + 63) / 64;
        r->levels[r->count++] = bits;
        bits += level;
    } while (level > 1);
    return true;
}

static void add_rank(Ranks *r, int64_t rank) {
    for (int level = 0; level < r->count; level++, rank >>= 6)
        r->levels[level][rank >> 6] |= UINT64_C(1) << (rank & 63);
}

static void remove_rank(Ranks *r, int64_t rank) {
    for (int level = 0; level < r->count; level++, rank >>= 6)
        if (r->levels[level][rank >> 6] &= ~(UINT64_C(1) << (rank & 63))) return;
}

/* The nearest rank of the set before or behind another one, -1 where there is none. */
static int64_t neighbor(const Ranks *r, int64_t rank, bool is_before) {
    for (int level = 0; level < r->count; level++, rank >>= 6) {
        uint64_t bit = UINT64_C(1) << (rank & 63), word = r->levels[level][rank >> 6];
        word &= is_before ? bit - 1 : ~(bit | (bit - 1));
        if (!word) continue;
        for (int64_t at = rank >> 6;; word = r->levels[level][at]) {
            at = at * 64 + (is_before ? 63 - __builtin_clzll(word) : __builtin_ctzll(word));
            if (level-- == 0) return at;
        }
    }
    return -1;
}

/* Slices of one allocation: whether two share bytes for more than an instant. */
static bool is_overlapping(Scanner *s, Slice *slices, int64_t count, bool *answer) {
    Slice *ends = scratch(s, ENDS, count, sizeof *ends);
    int64_t *lows = scratch(s, LOWS, count, sizeof *lows), *highs = scratch(s, HIGHS, count, sizeof *highs);
    int64_t *instants = scratch(s, ORDER, count, sizeof *instants);
    Ranks alive;
    if (!ends || !lows || !highs || !instants || !empty_ranks(s, count, &alive)) return false;
    qsort(slices, (size_t)count, sizeof *slices, by_low);
    int64_t ending = 0, gone = 0, instant_count = 0, now = -1;
    for (int64_t rank = 0; rank < count; rank++) {
        slices[rank].rank = rank;
        lows[rank] = slices[rank].low;
        highs[rank] = slices[rank].high;
        if (slices[rank].start < slices[rank].end) ends[ending++] = slices[rank];
    }
    qsort(ends, (size_t)ending, sizeof *ends, by_end);
    qsort(slices, (size_t)count, sizeof *slices, by_start);
    *answer = true;
    for (int64_t i = 0; i < count; i++) {
        const Slice *one = &slices[i];
        if (one->start > now) {
            now = one->start;
            while (instant_count) remove_rank(&alive, instants[--instant_count]);
            while (gone < ending && ends[gone].end <= now) remove_rank(&alive, ends[gone++].rank);
        }
        int64_t before = neighbor(&alive, one->rank, true), behind = neighbor(&alive, one->rank, false);
        if ((before >= 0 && highs[before] > one->low) || (behind >= 0 && lows[behind] < one->high)) return true;
        add_rank(&alive, one->rank);
        if (one->end == now) instants[instant_count++] = one->rank;
    }
    *answer = false;
    return true;
}

/* Whether the models can compare so much: see MOST_SEGMENTS and MOST_MEETINGS in overlap.py. */
static bool has_few_segments(Scanner *s, const Slice *slices, int64_t count) {
    int64_t *borders = scratch(s, ENDS, count, 2 * sizeof *borders), distinct = 0, covered = 0;
    if (!borders) return false;
    for (int64_t i = 0; i < count; i++) {
        borders[2 * i] = slices[i].low;
        borders[2 * i + 1] = slices[i].high;
    }
    qsort(borders, (size_t)(2 * count), sizeof *borders, by_number);
    for (int64_t i = 0; i < 2 * count; i++)
        if (!distinct || borders[distinct - 1] != borders[i]) borders[distinct++] = borders[i];
    for (int64_t i = 0; i < count; i++) {
        const int64_t *low = bsearch(&slices[i].low, borders, (size_t)distinct, sizeof *borders, by_number);
        const int64_t *high = bsearch(&slices[i].high, borders, (size_t)distinct, sizeof *borders, by_number);
        if (!low || !high || __builtin_add_overflow(covered, high - low, &covered)) return false;
    }
    return covered <= 1 << 14 || covered / 128 < count || (covered / 128 == count && covered % 128 == 0);
}

static bool has_few_meetings(Scanner *s, const Slice *slices, int64_t count) {
    if (count <= 4096) return true; /* the square of the count is small enough */
    int64_t *ends = scratch(s, ENDS, count, sizeof *ends), pairs = 0, starts = 0, at = 0, before = -1;
    if (!ends) return false;
    for (int64_t i = 0; i < count; i++) ends[i] = slices[i].end;
    qsort(ends, (size_t)count, sizeof *ends, by_number);
    for (int64_t i = 0; i < count; i++) { /* slices are sorted by their starts */
        if (ends[i] != before)
            for (before = ends[i], starts = 0; at < count && slices[at].start <= before; at++)
                starts += slices[at].start == before;
        if (__builtin_add_overflow(pairs, starts, &pairs)) return false;
    }
    return pairs / 4096 < count || (pairs / 4096 == count && pairs % 4096 == 0);
}

/* Sets `has_strict_overlap` of the allocations of a dump; false if the dump is to be refused. */
static bool strict_overlaps(Scanner *s, int64_t first_allocation, int64_t first_value, int64_t first_range) {
    int64_t allocations = s->allocations.rows - first_allocation, values = s->hlo_values.rows, sum = 0;
    int64_t *starts = scratch(s, HEAD, allocations + 1, sizeof *starts);
    int64_t *used = scratch(s, NEXT, allocations + 1, sizeof *used);
    if (!starts || !used) return false;
    for (int64_t i = 0; i <= allocations; i++) starts[i] = used[i] = 0;
    for (int64_t row = first_value; row < values; row++)
        starts[s->hlo_values.allocation_index[row]] += s->hlo_values.size_bytes[row] > 0;
    for (int64_t i = 0; i <= allocations; i++) { /* a single value shares its bytes with no other */
        int64_t held = starts[i] > 1 ? starts[i] : 0;
        starts[i] = sum;
        sum += held;
    }
    if (!sum) return true;
    Slice *slices = scratch(s, SLICES, sum, sizeof *slices);
    if (!slices) return false;
    for (int64_t row = first_value; row < values; row++) {
        int64_t owner = s->hlo_values.allocation_index[row], size_bytes = s->hlo_values.size_bytes[row];
        if (!size_bytes || starts[owner] == starts[owner + 1]) continue;
        int32_t index = s->hlo_values.shape_index[row];
        int64_t range = range_of(s, s->hlo_values.instruction_id[row], index == NO_WORD ? 0 : index);
        if (range < 0) continue;
        int64_t offset = s->hlo_values.offset_bytes[row], at = first_range + range;
        slices[starts[owner] + used[owner]++] =
            (Slice){s->live_ranges.start_position[at], s->live_ranges.end_position[at], offset, offset + size_bytes, 0};
    }
    for (int64_t i = 0; i < allocations; i++) {
        bool is_strict = false;
        if (used[i] < 2) continue;
        Slice *own = slices + starts[i];
        if (!is_overlapping(s, own, used[i], &is_strict)) return false;
        if (!(is_strict ? has_few_segments(s, own, used[i]) : has_few_meetings(s, own, used[i]))) return false;
        s->allocations.has_strict_overlap[first_allocation + i] = is_strict;
    }
    return true;
}

/* ---- Dumps ------------------------------------------------------------------------------------------------------ */

/* UTF-8 as RFC 3629 has it: no long forms, no surrogates, nothing above U+10FFFF. */
static bool is_utf8(Bytes p, int64_t bytes) {
    Bytes end = p + bytes;
    while (p < end) {
        uint64_t word;
        if (end - p >= 8 && (memcpy(&word, p, 8), !(word & UINT64_C(0x8080808080808080)))) {
            p += 8;
            continue;
        }
        if (*p < 0x80) {
            p++;
            continue;
        }
        int more = *p >= 0xC2 && *p <= 0xDF ? 1 : (*p & 0xF0) == 0xE0 ? 2 : *p >= 0xF0 && *p <= 0xF4 ? 3 : 0;
        if (!more || end - p <= more) return false;
        if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90)
            || (*p == 0xF4 && p[1] > 0x8F))
            return false;
        for (int i = 1; i <= more; i++)
            if ((p[i] & 0xC0) != 0x80) return false;
        p += more + 1;
    }
    return true;
}

/* Numbers the instructions as the reader in Python does: the schedule, which was read first, then those of values by
   id, of positions, of uses, of texts and of operands. */
static bool renumber(Scanner *s, const Mark *m, int64_t scheduled_count) {
    Words *w = &s->words[WORDS_instruction_name];
    int64_t count = w->count - w->first, others = count - scheduled_count, next = scheduled_count;
    if (!others) return true;
    int64_t *number = scratch(s, HEAD, others, sizeof *number), *order = scratch(s, NEXT, others, sizeof *order);
    int64_t from = w->ends[w->first + scheduled_count], bytes = w->ends[w->count] - from;
    uint8_t *copy = scratch(s, UNESCAPED, bytes, 1);
    int64_t *ends = scratch(s, ORDER, others + 1, sizeof *ends);
    if (!number || !order || !copy || !ends) return false;
    for (int64_t i = 0; i < others; i++) number[i] = -1;
    int64_t *const ids[] = {s->hlo_values.instruction_id, s->further_positions.instruction_id,
                            s->uses.instruction_id, s->instruction_texts.instruction_id, s->operands.instruction_id};
    const int tables[] = {TABLE_hlo_values, TABLE_further_positions, TABLE_uses, TABLE_instruction_texts,
                          TABLE_operands};
    for (int i = 0; i < 5; i++)
        for (int64_t row = m->rows[tables[i]]; row < counts(s, tables[i])[0]; row++) {
            if (ids[i][row] < scheduled_count) continue;
            int64_t other = ids[i][row] - scheduled_count;
            if (number[other] < 0) {
                order[next - scheduled_count] = other;
                number[other] = next++;
            }
            ids[i][row] = number[other];
        }
    if (next != count) return false; /* a head that no value has would have ended the dump */
    memcpy(copy, w->data + from, (size_t)bytes);
    memcpy(ends, w->ends + w->first + scheduled_count, (size_t)(others + 1) * sizeof *ends);
    for (int64_t i = 0, at = from; i < others; i++) {
        int64_t length = ends[order[i] + 1] - ends[order[i]];
        memcpy(w->data + at, copy + (ends[order[i]] - from), (size_t)length);
        w->ends[w->first + scheduled_count + i + 1] = at += length;
    }
    return true;
}

static bool instructions(Scanner *s, int64_t scheduled_count) {
    int64_t count = s->words[WORDS_instruction_name].count - s->words[WORDS_instruction_name].first;
    for (int64_t id = 0; id < count; id++) {
        if (!ROOM(instructions)) return false;
        int64_t row = s->instructions.rows++;
        s->instructions.instruction_id[row] = id;
        s->instructions.schedule_position[row] = id < scheduled_count ? id : NONE;
    }
    return true;
}

#define FILL(table)                                                                                                  \
    for (int64_t row = m->rows[TABLE_##table]; row < s->table.rows; row++) s->table.dump_id[row] = dump_id;

static void keys(Scanner *s, const Mark *m, int64_t dump_id) {
    FILL(allocations) FILL(hlo_values) FILL(further_positions) FILL(uses) FILL(instructions)
    FILL(instruction_texts) FILL(live_ranges) FILL(peak_buffers) FILL(dumps)
    for (int64_t row = m->rows[TABLE_instruction_texts]; row < s->instruction_texts.rows; row++)
        s->instruction_texts.instruction_text_id[row] = row - m->rows[TABLE_instruction_texts];
}

static const char LIVE_RANGE_MARK[] = "\n\nHloLiveRange (max ";

/* One dump, in one text or in three; true where all of it was read. */
static bool read_dump(Scanner *s, Text first, Text values, Text live, int64_t dump_id) {
    const Mark *m = &s->mark;
    bool is_split = values.at, is_glued = false;
    Bytes stop = NULL;
    if (!ROOM(dumps)) return false;
    int64_t dump = s->dumps.rows++;
    if (!is_split) {
        stop = found(first.at, first.end, LIVE_RANGE_MARK, sizeof LIVE_RANGE_MARK - 1);
        if (!stop || found(stop + 1, first.end, LIVE_RANGE_MARK, sizeof LIVE_RANGE_MARK - 1)) return false;
        is_glued = stop > first.at && stop[-1] != '\n';
        live = (Text){stop + 2, first.end};
        first.end = stop;
    }
    if (!schedule(s, &live, dump) || !allocation_section(s, &first)) return false;
    int64_t max = s->dumps.max_position[dump], first_value = m->rows[TABLE_hlo_values];
    if (s->hlo_values.rows == first_value || !sort_values(s, first_value)) return false;
    s->dumps.trailing_allocations[dump] = s->dumps.trailing_values[dump] = NONE;
    if (is_split && !trailing(&first, &s->dumps.trailing_allocations[dump])) return false;
    Text *used = is_split ? &values : &first;
    if (!totals(s, used, m->rows[TABLE_allocations], dump) || !used_values(s, used, first_value, dump, is_glued))
        return false;
    if (is_split ? !trailing(used, &s->dumps.trailing_values[dump]) : used->at != stop) return false;
    int64_t first_range = m->rows[TABLE_live_ranges];
    if (!live_ranges(s, &live, max) || !peak(s, &live, first_range, max, dump) || !stack_trace(s, &live, dump)
        || !trailing(&live, &s->dumps.trailing_live_range[dump]))
        return false;
    if (!strict_overlaps(s, m->rows[TABLE_allocations], first_value, first_range) || !renumber(s, m, max)
        || !instructions(s, max))
        return false;
    s->dumps.allocations[dump] = s->allocations.rows - m->rows[TABLE_allocations];
    s->dumps.values[dump] = s->hlo_values.rows - first_value;
    s->dumps.is_split[dump] = is_split;
    s->dumps.is_glued[dump] = is_glued;
    s->dumps.has_pointers[dump] = s->dumps.has_pages[dump] = 0;
    for (int64_t row = m->rows[TABLE_allocations]; row < s->allocations.rows; row++) {
        s->dumps.has_pointers[dump] |= s->allocations.pointer[row] != NO_WORD;
        s->dumps.has_pages[dump] |= s->allocations.page[row] != NONE;
    }
    keys(s, m, dump_id);
    return true;
}

/* ---- What the caller sees --------------------------------------------------------------------------------------- */

static void release(void **cells) {
    free(*cells);
    *cells = NULL;
}

/* Frees what is needed only while dumps are read. */
static void release_tools(Scanner *s) {
    for (int i = 0; i < SCRATCHES; i++) release(&s->scratch[i].at);
    for (int i = 0; i < WORDS; i++) {
        release((void **)&s->words[i].slots);
        release((void **)&s->words[i].hashes);
    }
}

EXPORTED void scanner_end(Scanner *s) {
    if (!s) return;
    release_tools(s);
    for (int64_t i = 0; i < COLUMN_COUNT; i++) free(*cells_of(s, &columns[i]));
    for (int i = 0; i < WORDS; i++) {
        free(s->words[i].ends);
        free(s->words[i].data);
    }
    free(s->bits);
    free(s);
}

/* Returns NULL if there is no memory. */
EXPORTED Scanner *scanner_begin(uint64_t seed, int64_t until_failure) {
    Scanner *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->seed = seed;
    s->until_failure = until_failure;
    if (numbered(s, WORDS_shape_index, (Bytes) "{}", 2) != 0) { /* that of a value in which none is printed */
        scanner_end(s);
        return NULL;
    }
    return s;
}

/* Takes back the dump that was read last. */
EXPORTED void scanner_take_back(Scanner *s) {
    if (s->bits) return; /* all is finished, and the tables of words are gone */
    for (int i = 0; i < TABLE_COUNT; i++) counts(s, i)[0] = s->mark.rows[i];
    for (int i = 0; i < FIRST_OF_A_DUMP; i++) take_words_back(&s->words[i], s->mark.words[i]);
    for (int i = FIRST_OF_A_DUMP; i < WORDS; i++) s->words[i].count = s->mark.words[i];
}

/* Reads one dump: `values` and `live` are NULL if it is one file. Returns 1 if the dump was taken, and 0 if this reader
   does not read it: then nothing of it is left. */
EXPORTED int32_t scanner_read(Scanner *s, int64_t dump_id, Bytes first, int64_t first_bytes, Bytes values,
                              int64_t values_bytes, Bytes live, int64_t live_bytes) {
    if (s->bits || !first || first_bytes < 0 || values_bytes < 0 || live_bytes < 0 || !values != !live) return 0;
    if (!is_utf8(first, first_bytes)) return 0;
    if (values && (!is_utf8(values, values_bytes) || !is_utf8(live, live_bytes))) return 0;
    for (int i = 0; i < TABLE_COUNT; i++) s->mark.rows[i] = counts(s, i)[0];
    s->words[WORDS_range_key].count = 0; /* those of another dump are not needed */
    for (int i = FIRST_OF_A_DUMP; i < WORDS; i++) begin_words(&s->words[i]);
    for (int i = 0; i < WORDS; i++) s->mark.words[i] = s->words[i].count;
    Text none = {NULL, NULL}, in_values = values ? (Text){values, values + values_bytes} : none;
    Text in_live = live ? (Text){live, live + live_bytes} : none;
    if (read_dump(s, (Text){first, first + first_bytes}, in_values, in_live, dump_id)) return 1;
    scanner_take_back(s);
    return 0;
}

/* The name of a column (`table.column`) and its kind; NULL behind the last. */
EXPORTED const char *scanner_column_name(int64_t number, int64_t *kind) {
    if (number < 0 || number >= COLUMN_COUNT) return NULL;
    *kind = columns[number].kind;
    return columns[number].name;
}

/* The name of a list of words; NULL behind the last. */
EXPORTED const char *scanner_words_name(int64_t number) {
    return number < 0 || number >= WORDS ? NULL : word_names[number];
}

/* The words of a list: `count` + 1 ends, which begin with 0, and the bytes; NULL for both if there are none. */
EXPORTED const int64_t *scanner_words(const Scanner *s, int64_t number, int64_t *count, const uint8_t **data) {
    if (number < 0 || number >= WORDS) return NULL;
    *count = s->words[number].count;
    *data = s->words[number].data;
    return s->words[number].ends;
}

static int64_t bytes_of_bits(const Column *column, int64_t rows) {
    return column->kind == KIND_Optional || column->kind == KIND_Word ? (rows + 63) / 64 * 8 : 0;
}

/* Sets absent cells to 0 and leaves their bits unset; returns how many cells are absent. */
static int64_t marked_absent(const Column *column, void *cells, int64_t rows, uint8_t *bits) {
    int64_t absent = 0;
    for (int64_t row = 0; row < rows; row++) {
        bool is_absent;
        if (column->kind == KIND_Optional) {
            Optional *cell = (Optional *)cells + row;
            if ((is_absent = *cell == NONE)) *cell = 0;
        } else {
            Word *cell = (Word *)cells + row;
            if ((is_absent = *cell == NO_WORD)) *cell = 0;
        }
        absent += is_absent;
        bits[row >> 3] |= (uint8_t)(!is_absent << (row & 7));
    }
    return absent;
}

typedef struct {
    const void *cells;
    int64_t rows;
    const uint8_t *bits; /* in Arrow's form; NULL if no cell is absent */
    int64_t absent;
} Cells;

/* Returns where all columns are, in the order of their names; no dump may be read after that. 0 if there is no memory
   for the bits. */
EXPORTED int32_t scanner_finish(Scanner *s, Cells *found_cells) {
    int64_t needed = 0;
    for (int64_t i = 0; i < COLUMN_COUNT; i++) {
        int64_t bytes = bytes_of_bits(&columns[i], counts(s, columns[i].table)[0]);
        if (__builtin_add_overflow(needed, bytes, &needed)) return 0;
    }
    if (s->bits || !resize(s, (void **)&s->bits, needed, 1)) return 0;
    release_tools(s);
    memset(s->bits, 0, (size_t)needed);
    uint8_t *bits = s->bits;
    for (int64_t i = 0; i < COLUMN_COUNT; i++) {
        Cells *one = &found_cells[i];
        void *cells = *cells_of(s, &columns[i]);
        int64_t rows = counts(s, columns[i].table)[0], bytes = bytes_of_bits(&columns[i], rows);
        *one = (Cells){cells, rows, NULL, 0};
        if (!bytes) continue;
        one->absent = marked_absent(&columns[i], cells, rows, bits);
        if (one->absent) one->bits = bits;
        bits += bytes;
    }
    return 1;
}
