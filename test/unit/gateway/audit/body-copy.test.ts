import { describe, expect, test } from 'vitest'
import { BodyCopy } from '../../../../src/gateway/audit/body-copy.ts'
import { CopyBudget } from '../../../../src/gateway/audit/copy-budget.ts'

const KIB = 1024
const LIMIT = 512 * KIB

const newCopy = (budget: CopyBudget, contentLength: number | null = null): BodyCopy =>
  new BodyCopy(LIMIT, budget, contentLength)

const pieces = (bytes: number, size: number): readonly Buffer[] =>
  Array.from({ length: bytes / size }, (_, at) => Buffer.alloc(size, at))

/** A copy of these pieces, and its budget. */
function copied({ parts = [] as readonly Buffer[], most = 1024 * KIB, limit = LIMIT }) {
  const budget = new CopyBudget(most)
  const copy = new BodyCopy(limit, budget)
  for (const part of parts) copy.add(part)
  return { copy, budget }
}

describe('a copy', () => {
  test.each([1, 7, 4096, 100_000])('in pieces of %i bytes has all of them (21.4)', (size) => {
    const parts = pieces(Math.floor(LIMIT / size / 4) * size, size)
    const { copy } = copied({ parts })
    copy.end()
    expect(copy.body).toEqual({ bytes: Buffer.concat(parts) })
  })

  test('of the longest body is whole, and one byte more leaves it out as size (21.4)', () => {
    const { copy, budget } = copied({ parts: [Buffer.alloc(LIMIT - 1), Buffer.alloc(1)] })
    copy.end()
    expect(copy.body).toEqual({ bytes: Buffer.alloc(LIMIT) })
    const longer = copied({ parts: [Buffer.alloc(LIMIT), Buffer.alloc(1)] })
    expect(longer.budget.held).toBe(0)
    longer.copy.end()
    expect(longer.copy.body).toEqual({ omitted: 'size' })
    expect(budget.held).toBe(LIMIT)
  })

  test.each([
    { name: 'nothing was read', act: () => undefined, omitted: 'unread' },
    {
      name: 'it still arrives',
      act: (copy: BodyCopy) => copy.add(Buffer.from('a')),
      omitted: 'incomplete',
    },
    {
      name: 'it broke off',
      act: (copy: BodyCopy) => {
        copy.add(Buffer.from('a'))
        copy.breakOff()
        copy.end()
      },
      omitted: 'incomplete',
    },
  ])('is left out as $omitted where $name (21.4)', ({ act, omitted }) => {
    const { copy } = copied({})
    act(copy)
    expect(copy.body).toEqual({ omitted })
  })

  test('of a body whose length is too long takes no memory, and is left out as size (21.4)', () => {
    const budget = new CopyBudget(1024 * KIB)
    const [longest, longer, unread] = [LIMIT, LIMIT + 1, LIMIT + 1].map((length) =>
      newCopy(budget, length),
    )
    longer?.add(Buffer.alloc(1))
    expect(budget.held).toBe(0)
    longest?.add(Buffer.alloc(LIMIT))
    longest?.end()
    expect([longest?.body, longer?.body, unread?.body]).toEqual([
      { bytes: Buffer.alloc(LIMIT) },
      { omitted: 'size' },
      { omitted: 'unread' },
    ])
  })

  test('of an empty body is empty (21.4)', () => {
    const { copy } = copied({})
    copy.end()
    copy.breakOff()
    expect(copy.body).toEqual({ bytes: Buffer.alloc(0) })
  })

  test('is not changed by what the owner of a piece does with it (21.4)', () => {
    const piece = Buffer.from('abc')
    const { copy } = copied({ parts: [piece] })
    piece.fill(0)
    copy.end()
    expect(copy.body).toEqual({ bytes: Buffer.from('abc') })
  })
})

describe('the budget of all copies', () => {
  test('is given back once, whatever happens and however often (21.4)', () => {
    const ends: readonly ((copy: BodyCopy) => void)[] = [
      (copy) => copy.end(),
      (copy) => copy.breakOff(),
      (copy) => copy.add(Buffer.alloc(LIMIT)),
      (copy) => copy.release(),
      () => undefined,
    ]
    const budget = new CopyBudget(1024 * KIB)
    const other = newCopy(budget)
    other.add(Buffer.alloc(10_000))
    const held = budget.held
    for (const first of ends)
      for (const second of ends) {
        const copy = newCopy(budget)
        copy.add(Buffer.alloc(5000))
        first(copy)
        second(copy)
        copy.add(Buffer.alloc(5000))
        copy.release()
        copy.release()
        copy.add(Buffer.alloc(5000))
        expect(budget.held).toBe(held)
      }
  })

  test('is given back without the reason of a copy that was given up (21.4)', () => {
    const budget = new CopyBudget(1024 * KIB)
    const copy = newCopy(budget)
    copy.add(Buffer.alloc(LIMIT + 1))
    copy.release()
    expect(copy.body).toEqual({ omitted: 'size' })
  })

  test('leaves out as memory what does not fit, and its memory is there for others (21.4)', () => {
    const budget = new CopyBudget(600 * KIB)
    const [first, second, third] = [0, 1, 2].map(() => newCopy(budget))
    first?.add(Buffer.alloc(300 * KIB))
    second?.add(Buffer.alloc(200 * KIB))
    second?.add(Buffer.alloc(200 * KIB))
    expect(second?.body).toEqual({ omitted: 'memory' })
    expect(budget.held).toBe(300 * KIB)
    third?.add(Buffer.alloc(300 * KIB))
    third?.end()
    expect(third?.body).toEqual({ bytes: Buffer.alloc(300 * KIB) })
  })

  test('holds 200 copies of 3 MiB, whose pieces pass in turn (21.4)', () => {
    const most = 64 * 1024 * KIB
    const budget = new CopyBudget(most)
    const copies = Array.from({ length: 200 }, () => newCopy(budget))
    const piece = Buffer.alloc(64 * KIB)
    let highest = 0
    for (let round = 0; round < 48; round += 1)
      for (const copy of copies) {
        copy.add(piece)
        highest = Math.max(highest, budget.held)
      }
    expect(highest).toBeGreaterThan(most / 2)
    expect(highest).toBeLessThanOrEqual(most)
    expect(new Set(copies.map(({ body }) => ('omitted' in body ? body.omitted : 'whole')))).toEqual(
      new Set(['memory', 'size']),
    )
    expect(budget.held).toBe(0)
  })

  test('counts what pieces of one byte really hold (21.4)', () => {
    const { copy, budget } = copied({ parts: pieces(20_000, 1) })
    copy.end()
    expect(budget.held).toBeGreaterThanOrEqual(20_000)
    expect(budget.held).toBeLessThanOrEqual(40_000)
  })
})
