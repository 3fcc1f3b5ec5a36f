// Reads protobuf's wire format, as far as a profile uses it. Nothing in the bytes is trusted.

/** The reason why bytes are not a profile that this page can show. */
export class FormatError extends Error {}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const utf8 = new TextDecoder("utf-8");

/** A place in a message, which moves on with each field that is read. */
export class Reader {
  constructor(
    private readonly bytes: Uint8Array,
    private at = 0,
    private readonly end = bytes.length,
  ) {}

  /** Calls `visit` with the number of each field; it has to read the field, or return false to leave it out. */
  fields(visit: (field: number) => boolean): void {
    while (this.at < this.end) {
      const key = this.number();
      this.wire = key % 8;
      if (!visit(Math.floor(key / 8))) this.skip();
    }
  }

  /** A number without a sign. Beyond 2 ** 53 it is rounded. */
  number(): number {
    const { bytes, end } = this;
    let at = this.at;
    let number = 0;
    let factor = 1;
    for (let read = 0; read < 10; read++) {
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

  /** A number with a sign, in zigzag order. */
  signed(): number {
    const number = this.number();
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  }

  /** A text. Bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    const { start, end } = this.span();
    return utf8.decode(this.bytes.subarray(start, end));
  }

  /** The message inside this field. */
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
    const inner = this.message();
    while (inner.at < inner.end) to.push(signed ? inner.signed() : inner.number());
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

  private skip(): void {
    if (this.wire === VARINT) this.number();
    else if (this.wire === BYTES) this.span();
    else if (this.wire === FIXED64 || this.wire === FIXED32) {
      this.at += this.wire === FIXED64 ? 8 : 4;
      if (this.at > this.end) throw new FormatError("the profile ends in the middle of a field");
    } else throw new FormatError("a field of the profile has no type that is known");
  }
}

/** Numbers that grow in number: 8 bytes each, without a copy for each one. */
export class Numbers {
  private all = new Float64Array(64);
  length = 0;

  push(number: number): void {
    if (this.length === this.all.length) {
      const more = new Float64Array(this.length * 2);
      more.set(this.all);
      this.all = more;
    }
    this.all[this.length++] = number;
  }

  /** The numbers so far. Valid until the next `push`. */
  view(): Float64Array {
    return this.all.subarray(0, this.length);
  }
}
