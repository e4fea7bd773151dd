// Reads the answers on a connection as their bytes arrive. It can rest between two pieces, and goes on from there.
import { type AnswerHead, MalformedAnswer, headersIn, readHead } from './answer-head.ts'

/** What is found in the bytes, in this order: any number of informational heads, a head, pieces, the end. */
interface AnswerSink {
  /** Also for informational ones. */
  readonly head: (head: AnswerHead) => void
  readonly piece: (bytes: Buffer) => void
  readonly end: (head: AnswerHead) => void
}

/** Largest head, as by HTTP/2; and largest trailers. */
const LONGEST_HEAD = 65_536
/** The size of a chunk, without extensions: servers write none, and readers differ in what may be in one. */
const SIZE = /^[0-9a-fA-F]{1,12}$/
const LONGEST_SIZE = 12
/** Maximum pieces that are kept apart. */
const MOST_PIECES = 64
const FRAMING = ['content-length', 'transfer-encoding'] as const
const NO_BYTES = Buffer.alloc(0)
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const LINE_FEED = 0x0a

/** What the next bytes are. */
type Next = 'nothing' | 'head' | 'body' | 'size' | 'chunk' | 'chunkEnd' | 'trailers'

/** Reads one answer after the other. */
export class AnswerParser {
  readonly #sink: AnswerSink
  #next: Next = 'nothing'
  #isHead = false
  #head: AnswerHead | null = null
  /** Bytes of the body or of the chunk that are to come. */
  #left = 0
  /** Bytes that have arrived and are not read. */
  #rest: Buffer = NO_BYTES
  #isResting = false
  /** More bytes, while the line that they belong to has no end. */
  #pieces: Buffer[] = []
  #piecesBytes = 0

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  /** Whether bytes would be unasked for. */
  get isIdle(): boolean {
    return this.#next === 'nothing' && this.#rest.length === 0 && this.#pieces.length === 0
  }

  /** A request was sent: its answer is read next. @param isHead whether by HEAD */
  expect(isHead: boolean): void {
    this.#next = 'head'
    this.#isHead = isHead
    this.#isResting = false
  }

  /** Reads no further until `goOn`. */
  rest(): void {
    this.#isResting = true
  }

  /** Reads what has arrived meanwhile. @throws MalformedAnswer */
  goOn(): void {
    this.#isResting = false
    this.#read()
  }

  /** @throws MalformedAnswer */
  feed(bytes: Buffer): void {
    if (this.#isWithoutLine(bytes)) return
    const pieces = [this.#rest, ...this.#pieces, bytes]
    this.#rest = pieces.length === 2 && this.#rest.length === 0 ? bytes : Buffer.concat(pieces)
    this.#pieces = []
    this.#piecesBytes = 0
    this.#read()
  }

  /** Keeps bytes in which no line ends, where lines are read: a head may come byte by byte, and is joined once a line. */
  #isWithoutLine(bytes: Buffer): boolean {
    const isInLine = this.#next === 'head' || this.#next === 'size' || this.#next === 'trailers'
    if (!isInLine || this.#rest.length === 0 || bytes.includes(LINE_FEED)) return false
    const longest = this.#next === 'size' ? LONGEST_SIZE : LONGEST_HEAD
    if (this.#rest.length + this.#piecesBytes + bytes.length > longest) return false
    this.#pieces.push(bytes)
    this.#piecesBytes += bytes.length
    // A piece of one byte takes hundreds of bytes of memory.
    if (this.#pieces.length === MOST_PIECES) this.#pieces = [Buffer.concat(this.#pieces)]
    return true
  }

  #read(): void {
    while (!this.#isResting && this.#step());
  }

  /** Reads one part of the answer. @returns whether there may be another in the bytes */
  #step(): boolean {
    switch (this.#next) {
      case 'nothing':
        if (this.#rest.length > 0) throw new MalformedAnswer('bytes came without a request')
        return false
      case 'head':
        return this.#stepHead()
      case 'body':
        return this.#stepBytes('nothing')
      case 'size':
        return this.#stepSize()
      case 'chunk':
        return this.#stepBytes('chunkEnd')
      case 'chunkEnd':
        return this.#stepChunkEnd()
      case 'trailers':
        return this.#stepTrailers()
      default:
        return this.#next satisfies never
    }
  }

  #stepHead(): boolean {
    const text = this.#textBefore(HEAD_END, LONGEST_HEAD)
    if (text === null) return false
    const head = readHead(text, this.#isHead)
    if (head.status >= 200) {
      this.#head = head
      this.#next = head.framing.kind === 'chunked' ? 'size' : 'body'
      this.#left = head.framing.kind === 'length' ? head.framing.bytes : 0
    }
    this.#sink.head(head)
    if (this.#next === 'body' && this.#left === 0) this.#end()
    return true
  }

  #stepBytes(then: 'nothing' | 'chunkEnd'): boolean {
    if (this.#rest.length === 0) return false
    const piece = this.#take(Math.min(this.#left, this.#rest.length))
    this.#left -= piece.length
    this.#sink.piece(piece)
    if (this.#left > 0) return false
    if (then === 'nothing') this.#end()
    else this.#next = then
    return true
  }

  #stepSize(): boolean {
    const text = this.#textBefore(LINE_END, LONGEST_SIZE)
    if (text === null) return false
    if (!SIZE.test(text)) throw new MalformedAnswer('a chunk of the answer has no size')
    this.#left = parseInt(text, 16)
    this.#next = this.#left === 0 ? 'trailers' : 'chunk'
    return true
  }

  #stepChunkEnd(): boolean {
    if (this.#rest.length < LINE_END.length) return false
    if (!this.#take(LINE_END.length).equals(LINE_END))
      throw new MalformedAnswer('a chunk of the answer has more bytes than it says')
    this.#next = 'size'
    return true
  }

  /** Trailers are read, and left out. */
  #stepTrailers(): boolean {
    if (this.#rest.subarray(0, 2).equals(LINE_END)) {
      this.#take(LINE_END.length)
      this.#end()
      return true
    }
    const text = this.#textBefore(HEAD_END, LONGEST_HEAD)
    if (text === null) return false
    const trailers = headersIn(text.split('\r\n'))
    if (FRAMING.some((name) => Object.hasOwn(trailers, name)))
      throw new MalformedAnswer('the trailers of the answer speak of its length')
    this.#end()
    return true
  }

  #end(): void {
    const head = this.#head
    this.#head = null
    this.#next = 'nothing'
    // Its reader may rest with the last piece: what comes behind the answer is looked at nevertheless.
    this.#isResting = false
    if (head !== null) this.#sink.end(head)
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = bytes === this.#rest.length ? NO_BYTES : this.#rest.subarray(bytes)
    return taken
  }

  /** The text before this end, without it; null = it has not come. @throws MalformedAnswer beyond the limit */
  #textBefore(end: Buffer, limit: number): string | null {
    const at = this.#rest.indexOf(end)
    if ((at === -1 ? this.#rest.length : at) > limit)
      throw new MalformedAnswer('the head of the answer, or of a chunk, is too long')
    if (at === -1) return null
    const text = this.#rest.toString('latin1', 0, at)
    this.#take(at + end.length)
    return text
  }
}
