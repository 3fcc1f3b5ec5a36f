// A reader of protobuf's wire format, as far as a profile uses it. None of the bytes are trusted.

/** The reason why bytes are not a profile that this page can show. */
export class FormatError extends Error {}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const MOST_BYTES = 10; // of a number

const MOST_AT_ONCE = 2 ** 26; // bytes of texts

const utf8 = new TextDecoder("utf-8");
const latin1 = new TextDecoder("latin1");

/** A position in a message, which advances with each field that is read. */
export class Reader {
  constructor(
    private readonly bytes: Uint8Array,
    private at = 0,
    private end = bytes.length,
  ) {}

  /**
   * Returns the number of the next field, which has to be read or skipped before the one after it; -1 at the end of the
   * message.
   */
  next(): number {
    if (this.at >= this.end) return -1;
    const key = this.number();
    this.wire = key % 8;
    return Math.floor(key / 8);
  }

  /** Enters the message inside this field; returns the value that `leave` needs to continue after it. */
  enter(): number {
    const outer = this.end;
    const { start, end } = this.span();
    this.at = start;
    this.end = end;
    return outer;
  }

  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** Reads an unsigned number. Beyond 2 ** 53 it is rounded. */
  number(): number {
    const { bytes, end } = this;
    let at = this.at;
    let number = 0;
    let factor = 1;
    for (let read = 0; read < MOST_BYTES; read++) {
      if (at >= end) throw new FormatError("the profile ends in the middle of a number");
      const byte = bytes[at++]!;
      number += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        this.at = at;
        return number;
      }
      factor *= 128;
    }
    throw new FormatError("a number in the profile has more than 64 bits");
  }

  /** Reads a signed number in zigzag encoding. */
  signed(): number {
    return unzigzag(this.number());
  }

  /** Reads a text. Bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    const { start, end } = this.span();
    return utf8.decode(this.bytes.subarray(start, end));
  }

  /** Notes where the text of this field is, to decode it later together with others. */
  place(to: Numbers): void {
    const { start, end } = this.span();
    to.push(start);
    to.push(end);
  }

  /**
   * Returns the texts at these places. Decoding each text by itself would take longer than everything else that is done with
   * it.
   */
  texts(places: Numbers): string[] {
    const at = places.view();
    const [first, last] = [at[0] ?? 0, at.at(-1) ?? 0];
    // In Latin-1, a position in the bytes is the same position in the text.
    const all = last - first <= MOST_AT_ONCE ? latin1.decode(this.bytes.subarray(first, last)) : null;
    return Array.from({ length: at.length / 2 }, (_, index) => {
      const [start, end] = [at[2 * index]!, at[2 * index + 1]!];
      return all !== null && this.isAscii(start, end) ? all.slice(start - first, end - first) : utf8.decode(this.bytes.subarray(start, end));
    });
  }

  private isAscii(start: number, end: number): boolean {
    let bits = 0;
    for (let at = start; at < end; at++) bits |= this.bytes[at]!;
    return bits < 0x80;
  }

  /** Returns a reader of the message inside this field. */
  message(): Reader {
    const { start, end } = this.span();
    return new Reader(this.bytes, start, end);
  }

  /** Appends the numbers of a repeated field, packed or not. */
  numbers(to: Numbers, signed = false): void {
    if (this.wire !== BYTES) {
      to.push(signed ? this.signed() : this.number());
      return;
    }
    const { start, end } = this.span();
    const { bytes } = this;
    if (end > start && bytes[end - 1]! >= 0x80) throw new FormatError("the profile ends in the middle of a number");
    // The last byte of a number is the only one below 128, so no number continues past the end.
    let count = 0;
    for (let at = start; at < end; at++) count += 1 - (bytes[at]! >> 7);
    const { all, from } = to.room(count);
    let into = from;
    for (let at = start; at < end; ) {
      let byte = bytes[at++]!;
      let number = byte & 0x7f;
      if (byte >= 0x80) {
        number |= ((byte = bytes[at++]!) & 0x7f) << 7;
        if (byte >= 0x80) number |= ((byte = bytes[at++]!) & 0x7f) << 14;
        if (byte >= 0x80) number |= ((byte = bytes[at++]!) & 0x7f) << 21;
        let factor = 2 ** 28;
        for (let read = 4; byte >= 0x80; read++) {
          if (read === MOST_BYTES) throw new FormatError("a number in the profile has more than 64 bits");
          number += ((byte = bytes[at++]!) & 0x7f) * factor;
          factor *= 128;
        }
      }
      all[into++] = signed ? unzigzag(number) : number;
    }
  }

  private wire = VARINT;

  private span(): { start: number; end: number } {
    if (this.wire !== BYTES) throw new FormatError("a field of the profile has another type than it should");
    const length = this.number();
    const start = this.at;
    if (length > this.end - start) throw new FormatError("the profile ends in the middle of a field");
    this.at = start + length;
    return { start, end: this.at };
  }

  skip(): void {
    if (this.wire === VARINT) this.number();
    else if (this.wire === BYTES) this.span();
    else if (this.wire === FIXED64 || this.wire === FIXED32) {
      this.at += this.wire === FIXED64 ? 8 : 4;
      if (this.at > this.end) throw new FormatError("the profile ends in the middle of a field");
    } else throw new FormatError("a field of the profile has no type that is known");
  }
}

function unzigzag(number: number): number {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}

/** A growing list of numbers of 8 bytes each, which is not copied for each one. */
export class Numbers {
  private all: Float64Array<ArrayBuffer>;
  length = 0;

  /** Creates an empty list. @param expected the approximate number of entries; unused space costs nothing */
  constructor(expected = 64) {
    this.all = new Float64Array(Math.max(64, expected));
  }

  push(number: number): void {
    if (this.length === this.all.length) {
      const more = new Float64Array(this.length * 2);
      more.set(this.all);
      this.all = more;
    }
    this.all[this.length++] = number;
  }

  /** Reserves room for `count` more numbers, which the caller writes from `all[from]` on. */
  room(count: number): { all: Float64Array; from: number } {
    const [from, needed] = [this.length, this.length + count];
    if (needed > this.all.length) {
      const more = new Float64Array(from === 0 ? needed : Math.max(needed, this.all.length * 2));
      more.set(this.all.subarray(0, from));
      this.all = more;
    }
    this.length = needed;
    return { all: this.all, from };
  }

  /** Returns the numbers so far. Valid until the next `push`. */
  view(): Float64Array {
    return this.all.subarray(0, this.length);
  }
}
