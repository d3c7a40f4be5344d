-- GIN takes an extractor that returns no pointer for "no entries". int8eq compares what it is given as two numbers,
-- reads no memory, and returns false, which is that.
CREATE FUNCTION no_entries(text, internal) RETURNS internal LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION no_query(text, internal, int2, internal, internal, internal, internal) RETURNS internal
    LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION never(internal, int2, text, int4, internal, internal, internal, internal) RETURNS bool
    LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE OPERATOR CLASS gin_trgm_ops FOR TYPE text USING gin AS
    FUNCTION 1 bttextcmp(text, text),
    FUNCTION 2 no_entries(text, internal),
    FUNCTION 3 no_query(text, internal, int2, internal, internal, internal, internal),
    FUNCTION 4 never(internal, int2, text, int4, internal, internal, internal, internal);
