// Passwords are checked once each, in turn, and only as often as the limits allow.
import { createHook } from 'node:async_hooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SignInRefused } from '../../../../src/domain/signin/refusals.ts'
import { type PasswordCheck, createPasswordCheck } from '../../../../src/signin/password/check.ts'
import { hashPassword, passwordHashText } from '../../../../src/signin/password/hash.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const PASSWORD = 'correct horse battery'
const TEXT = passwordHashText(await hashPassword(PASSWORD, Buffer.alloc(16, 7)))

/** Users by name: the text where the hash should be. */
const HASHES: ReadonlyMap<string, string | null> = new Map([
  ['ada', TEXT],
  ['none', null],
  ['clear', PASSWORD],
  ['weak', TEXT.replace('ln=17', 'ln=4')],
  ['empty', ''],
])

/** A check for the users above. Every attempt comes from another address, and has another name if it has none. */
function createCheck() {
  const clock = manualClock(0)
  const waiting: number[] = []
  const check = createPasswordCheck({
    hashOf: (username) => HASHES.get(username) ?? null,
    clock,
    observer: { waiting: (count) => void waiting.push(count) },
  })
  let addresses = 0
  const verify = (
    attempt: Partial<Parameters<PasswordCheck['verify']>[0]>,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<string> => {
    addresses += 1
    const whole = { username: 'ada', password: PASSWORD, isKnown: false, ...attempt }
    return check.verify({ address: `192.0.2.${addresses}`, ...whole }, signal).then(
      () => 'right',
      (error: unknown) => {
        if (!(error instanceof SignInRefused)) return 'aborted'
        const { reason, retryAfterSeconds, message } = error
        return [reason, ...(retryAfterSeconds === null ? [] : [retryAfterSeconds]), message].join()
      },
    )
  }
  return { clock, waiting, verify }
}

/** Counts the computations of scrypt that Node begins from now on. */
function countScrypt(): () => number {
  let count = 0
  const hook = createHook({
    init: (_, type) => {
      count += type === 'SCRYPTREQUEST' ? 1 : 0
    },
  }).enable()
  onTestFinished(() => void hook.disable())
  return () => count
}

/** The client has left: the attempt is counted, and not computed. */
const GONE = AbortSignal.abort()

const WRONG = 'wrong_password,wrong_password: user name or password'

describe('a password (25.5)', () => {
  test.each([
    { name: 'the right one', attempt: {}, says: 'right' },
    { name: 'a wrong one', attempt: { password: 'another password' }, says: WRONG },
    { name: 'none', attempt: { password: '' }, says: WRONG },
    { name: 'one that is too short', attempt: { password: 'short' }, says: WRONG },
    { name: 'a megabyte', attempt: { password: 'p'.repeat(1e6) }, says: WRONG },
    { name: 'one with a control character', attempt: { password: `${PASSWORD}\0` }, says: WRONG },
    { name: 'one of an unknown or disabled user', attempt: { username: 'eve' }, says: WRONG },
    { name: 'one of a user without a password', attempt: { username: 'none' }, says: WRONG },
    { name: 'one that stands in clear', attempt: { username: 'clear' }, says: WRONG },
    { name: 'one of a hash that costs less', attempt: { username: 'weak' }, says: WRONG },
    { name: 'none, of an empty hash', attempt: { username: 'empty', password: '' }, says: WRONG },
    { name: 'one of a name that is too long', attempt: { username: 'n'.repeat(1e6) }, says: WRONG },
  ])('$name is answered after exactly one computation', async ({ attempt, says }) => {
    const { verify } = createCheck()
    const computed = countScrypt()
    expect(await verify(attempt)).toBe(says)
    expect(computed()).toBe(1)
  })

  test.each(['ada', 'eve', 'none'])(
    'of %s is limited without a computation, whether it would be right or not',
    async (username) => {
      const { verify, clock } = createCheck()
      const computed = countScrypt()
      const address = '198.51.100.1'
      for (let at = 0; at < 3; at += 1) await verify({ username, address }, GONE)
      const next = verify({ username, address })
      expect(await next).toBe('limited,60,limited: too many passwords were tried')
      expect(computed()).toBe(0)
      await clock.advance(60_000)
      expect(await verify({ username, address })).toBe(username === 'ada' ? 'right' : WRONG)
    },
  )

  test('of a known browser is checked where strangers have used up the name (SG)', async () => {
    const { verify, clock } = createCheck()
    for (let at = 0; at < 30; at += 1) expect(await verify({}, GONE)).toBe('aborted')
    expect(await verify({})).toMatch(/^limited,3600,/)
    expect(await verify({ isKnown: true })).toBe('right')
    await clock.advance(3_600_000)
    expect(await verify({})).toBe('right')
  })
})

describe('the queue of passwords (25.5, SG)', () => {
  test('has room for two at a time and 16 strangers that wait', async () => {
    const { verify, waiting } = createCheck()
    const computed = countScrypt()
    const client = new AbortController()
    const tries = Array.from({ length: 40 }, (_, at) =>
      verify({ username: `n${at}` }, client.signal),
    )
    // One turn: what is limited is refused before the first computation ends.
    await new Promise((resolve) => setImmediate(resolve))
    expect(computed()).toBe(2)
    expect(waiting.at(-1)).toBe(16)
    client.abort()
    const answers = await Promise.all(tries)
    expect(answers.slice(0, 2)).toEqual([WRONG, WRONG])
    expect(answers.slice(2, 18)).toEqual(Array.from({ length: 16 }, () => 'aborted'))
    const busy = 'limited,5,limited: too many passwords wait'
    expect(answers.slice(18)).toEqual(Array.from({ length: 22 }, () => busy))
    expect(computed()).toBe(2)
    expect(Math.max(...waiting)).toBe(16)
    expect(waiting.at(-1)).toBe(0)
    expect(await verify({})).toBe('right')
  })

  test('counts no attempt that it has no room for', async () => {
    const { verify } = createCheck()
    const client = new AbortController()
    const full = Array.from({ length: 18 }, (_, at) =>
      verify({ username: `n${at}` }, client.signal),
    )
    for (let at = 0; at < 30; at += 1) expect(await verify({})).toMatch(/^limited,5,/)
    client.abort()
    await Promise.all(full)
    expect(await verify({})).toBe('right')
  })

  test('has four places more for known browsers, which strangers keep from no person', async () => {
    const { verify, waiting } = createCheck()
    const [strangers, client] = [new AbortController(), new AbortController()]
    const flood = Array.from({ length: 30 }, (_, at) =>
      verify({ username: `n${at}` }, strangers.signal),
    )
    const known = ['ada', 'eve', 'none', 'clear', 'weak'].map((username) =>
      verify({ username, isKnown: true }, client.signal),
    )
    expect(await known[4]).toBe('limited,5,limited: too many passwords wait')
    expect(Math.max(...waiting)).toBe(20)
    strangers.abort()
    expect(await known[0]).toBe('right')
    client.abort()
    await Promise.all([...flood, ...known])
    expect(waiting.at(-1)).toBe(0)
  })

  test('gives up an attempt whose client has left, and takes the next', async () => {
    const { verify, waiting } = createCheck()
    const computed = countScrypt()
    const client = new AbortController()
    const first = [verify({ username: 'n1' }), verify({ username: 'n2' })]
    const left = verify({}, client.signal)
    const next = verify({})
    client.abort()
    expect(await Promise.all([...first, left, next])).toEqual([WRONG, WRONG, 'aborted', 'right'])
    expect(computed()).toBe(3)
    expect(waiting.at(-1)).toBe(0)
  })

  test('leaves the event loop free', async () => {
    const { verify } = createCheck()
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await verify({})
    isOver = true
    expect(turns).toBeGreaterThan(20)
  })
})
