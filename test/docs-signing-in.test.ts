// docs/sign-in/README.md names what a sign-in makes and what is logged of it as the program does.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SESSION_TYPE } from '../src/api/names.ts'
import { DEFAULT_LOGIN_TTL_SECONDS } from '../src/domain/settings/layers.ts'
import { type SignInOutcome, outcomeHeader, outcomeIn } from '../src/domain/signin/outcome.ts'
import { objectNameFor } from '../src/people/people-index.ts'
import { ATTEMPT_MS, signInName } from '../src/signin/attempts/attempt.ts'
import { SESSION_COOKIE } from '../src/signin/http/cookies.ts'
import { newTeams } from '../src/signin/people/groups.ts'

const FOLDER = join(import.meta.dirname, '../docs/sign-in')
const PAGE = readFileSync(join(FOLDER, 'README.md'), 'utf8')

/** The text of a section, without its heading. */
const section = (title: string): string => PAGE.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

const ATTEMPT: SignInOutcome = {
  provider: 'oidc',
  subject: 'https://idp.example#1',
  user: 'ada',
  outcome: 'refused',
  reason: 'name_taken',
}

describe('docs/sign-in/README.md', () => {
  const made = section('What a sign-in makes')

  test('links each page beside it', () => {
    const pages = readdirSync(FOLDER).filter((name) => name !== 'README.md')
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.filter((name) => !PAGE.includes(`](${name})`))).toEqual([])
  })

  test('has the names of what a sign-in makes (25.3, 25.4)', () => {
    expect(signInName('oidc', 'state')).toMatch(/^login-.{26}$/)
    expect(made).toContain('`login-` and 26 characters')
    for (const name of [SESSION_TYPE, SESSION_COOKIE]) expect(made).toContain(`\`${name}\``)
  })

  test('has the times of attempts and keys (2.1, 25.3)', () => {
    expect(ATTEMPT_MS).toBe(10 * 60_000)
    expect(made).toContain('for ten minutes')
    expect(made).toContain(`${DEFAULT_LOGIN_TTL_SECONDS / 86_400} days unless set`)
  })

  test('shows the Team that a sign-in makes of a group (24.3, 24.4)', () => {
    const [team] = newTeams('oidc', [{ name: 'sre', displayName: null }], () => false)
    const example = section('From a group to a right')
    expect(example).toContain(`name: ${objectNameFor(team?.teamName ?? '')}`)
    expect(example).toContain(`name: ${team?.teamName}\n`)
    expect(example).toContain(`name: platform:team:${team?.teamName}\n`)
  })

  test('lists what is logged and recorded of an attempt (25.1, 27.1)', () => {
    const looked = section('Look into an attempt')
    const [log = '', , audit = ''] = [...looked.matchAll(/^\| .* with that .*$/gm)].map(String)
    for (const field of [...Object.keys(ATTEMPT), 'address', 'because'])
      expect(log).toContain(`\`${field}\``)
    for (const field of Object.keys(ATTEMPT)) expect(audit).toContain(`-${field}\``)
  })

  test('lists each outcome of an attempt (27.1)', () => {
    const [, sentence = ''] = /^`outcome` is (.*)\. An attempt/m.exec(PAGE) ?? []
    const listed = Array.from(sentence.matchAll(/`(\w+)`/g), ([, outcome]) => outcome)
    expect(listed).toHaveLength(4)
    for (const outcome of listed) {
      const sent = outcomeHeader({ ...ATTEMPT, outcome: outcome as SignInOutcome['outcome'] })
      expect(outcomeIn(sent)?.outcome).toBe(outcome)
    }
  })
})
