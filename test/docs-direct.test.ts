// docs/direct-endpoint.md, docs/direct-webhook.md and docs/troubleshooting.md have exactly the answers, reasons, checks,
// metrics and log lines of the direct endpoint.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { POLL_RESULTS } from '../src/authn/token/issuer-poller.ts'
import { TOKEN_REFUSALS } from '../src/authn/token/verify-token.ts'
import { createDirectMetrics } from '../src/commands/direct/metrics.ts'
import { TOKEN_ERRORS } from '../src/gateway/direct-errors.ts'
import { CREDENTIAL_FAULTS } from '../src/gateway/stages/authentication.ts'
import { WEBHOOK_ERRORS } from '../src/gateway/webhook/errors.ts'
import { WEBHOOK_OUTCOMES } from '../src/gateway/webhook/handler.ts'
import { systemClock } from '../src/runtime/clock.ts'
import type { Refusal } from '../src/serving/http/answer.ts'
import { shownMessage } from '../tools/generate/refusals.ts'
import { rowsIn, sentencesOf } from './support/log-sentences.ts'

const textOf = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../docs', name), 'utf8')
const PAGE = textOf('direct-endpoint.md')
const TROUBLESHOOTING = textOf('troubleshooting.md')

/** A section of a page, without the heading. */
function sectionOf(page: string, heading: string): string {
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  const [section = ''] = after.split('\n## ')
  return section
}

describe('docs: the answers of the direct endpoint (9.2, 9.6)', () => {
  const pages: readonly { readonly page: string; readonly refusals: readonly Refusal[] }[] = [
    { page: 'direct-endpoint.md', refusals: Object.values(TOKEN_ERRORS) },
    { page: 'direct-webhook.md', refusals: Object.values(WEBHOOK_ERRORS) },
  ]

  test.each(pages)('docs/$page has each', ({ page, refusals }) => {
    const missing = refusals.map(shownMessage).filter((shown) => !textOf(page).includes(shown))
    expect(missing).toEqual([])
  })

  test('docs/troubleshooting.md has what to do about each for which there is something to do', () => {
    const section = sectionOf(TROUBLESHOOTING, 'What a direct endpoint says')
    const remedied = pages.flatMap(({ refusals }) => refusals).filter(({ remedy }) => remedy)
    expect(remedied.length).toBeGreaterThan(2)
    expect(remedied.map(shownMessage).filter((shown) => !section.includes(shown))).toEqual([])
  })

  test('docs/direct-endpoint.md has each reason why a token is refused, and no other', () => {
    const [, table = ''] = PAGE.split('\n| reason | the token |\n')
    expect(rowsIn(table.split('\n\n')[0] ?? '').toSorted()).toEqual(
      [...TOKEN_REFUSALS, ...CREDENTIAL_FAULTS].toSorted(),
    )
  })
})

test('docs/troubleshooting.md has each warning and error of the direct endpoint that the gateway does not have (8.5)', () => {
  const [, table = ''] = sectionOf(TROUBLESHOOTING, 'What a direct endpoint says').split(
    '\n| line |',
  )
  const ofGateway = sentencesOf('src/commands/gateway/command.ts')
  const own = [...sentencesOf('src/commands/direct/command.ts')].filter(
    (line) => !ofGateway.has(line),
  )
  expect(rowsIn(table).toSorted()).toEqual(own.toSorted())
})

describe('docs/direct-endpoint.md: metrics (8.4, 9.2)', async () => {
  const metrics = createDirectMetrics({ maxStalenessMs: 1000 }, systemClock())
  const { body } = await metrics.scrape()
  const rows = new Map(
    Array.from(
      sectionOf(PAGE, 'Metrics').matchAll(/^\| `(\w+)(?:\{[a-z,]+\})?` \| (.*) \|$/gm),
      ([, name = '', meaning = '']) => [name, meaning] as const,
    ),
  )

  test('lists each metric that no other process has, and no other', () => {
    const own = /^# TYPE (platform_(?:direct_\w+|audit_spool_bytes))/gm
    const names = [...body.matchAll(own)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(9)
    expect([...rows.keys()].toSorted()).toEqual(names.toSorted())
  })

  test.each([
    { metric: 'platform_direct_issuer_polls_total', values: POLL_RESULTS },
    { metric: 'platform_direct_webhook_requests_total', values: WEBHOOK_OUTCOMES },
  ])('lists each value of the label of $metric', ({ metric, values }) => {
    const meaning = rows.get(metric) ?? ''
    expect(values.filter((value) => !meaning.includes(`\`${value}\``))).toEqual([])
  })
})
