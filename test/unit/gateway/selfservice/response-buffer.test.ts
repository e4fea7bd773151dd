// Responses and events in memory until clients have read them (contract 12.2, 13.3).
import { describe, expect, test } from 'vitest'
import {
  type BufferReservation,
  BufferFull,
  createResponseBuffer,
} from '../../../../src/gateway/selfservice/response-buffer.ts'

const ALL = 8000
const OF_ONE = 1000
const UNREAD = 'too many unread bytes of answers and events about objects of management.platform.sh'

function started() {
  let refused = 0
  const { holding } = createResponseBuffer(ALL, () => (refused += 1))
  return { holding, refused: () => refused }
}

/** The message of the refusal; empty when admitted. */
function refusalOf(act: () => void): string {
  try {
    act()
    return ''
  } catch (error) {
    if (!(error instanceof BufferFull)) throw error
    const { status, headers, body } = error.answer
    const { message } = JSON.parse(body.toString()) as { message: string }
    return `${status} after ${headers['retry-after']}: ${message}`
  }
}

describe('the buffer of answers and events (12.2)', () => {
  test('gives each caller an eighth, for any number of requests', () => {
    const { holding, refused } = started()
    const [first, second] = [holding('ada'), holding('ada')]
    first.exactly(600)
    second.exactly(OF_ONE - 600)
    const rejected = refusalOf(() => holding('ada').exactly(1))
    expect(rejected).toContain(
      `429 after 1: ${UNREAD} for this user, team or subject (limit ${OF_ONE} bytes); `,
    )
    expect(refusalOf(() => holding('bob').exactly(OF_ONE))).toBe('')
    expect(refused()).toBe(1)
  })

  test('has a bound for all callers together', () => {
    const { holding } = started()
    for (let at = 0; at < 8; at += 1) holding(`user-${at}`).exactly(OF_ONE)
    const rejected = refusalOf(() => holding('ada').exactly(1))
    expect(rejected).toContain(
      `429 after 1: ${UNREAD} for all callers together at this gateway (limit ${ALL} bytes); `,
    )
  })

  test.each<{ name: string; act: (holding: BufferReservation) => void; left: number }>([
    { name: 'has ended', act: (one) => one.release(), left: 0 },
    { name: 'shrinks', act: (one) => one.exactly(10), left: 10 },
    { name: 'needs less than it has', act: (one) => one.atLeast(10), left: 600 },
    { name: 'is refused', act: (one) => refusalOf(() => one.exactly(1001)), left: 600 },
    { name: 'ends twice', act: (one) => [1, 2].forEach(() => one.release()), left: 0 },
    {
      name: 'grows after its end',
      act: (one) => [one.release(), one.exactly(5000), one.anyway(5000)],
      left: 0,
    },
    { name: 'is forced to a larger size', act: (one) => one.anyway(990), left: 990 },
  ])('a reservation that $name holds $left bytes', ({ act, left }) => {
    const { holding } = started()
    const one = holding('ada')
    one.exactly(600)
    act(one)
    expect(refusalOf(() => holding('ada').exactly(OF_ONE - left))).toBe('')
    expect(refusalOf(() => holding('ada').exactly(1))).not.toBe('')
  })

  test('admits the response of a completed write even when full, and counts it', () => {
    const { holding } = started()
    const one = holding('ada')
    one.anyway(5 * OF_ONE)
    expect(refusalOf(() => holding('ada').exactly(1))).not.toBe('')
    one.release()
    expect(refusalOf(() => holding('ada').exactly(1))).toBe('')
  })
})
