// The table of `management-operator audit`, whose cells are written by clients (contract 22.4).
import { describe, expect, test } from 'vitest'
import { eventTable } from '../../../../src/commands/audit/table.ts'
import { visible, visibleJson } from '../../../../src/commands/shared/terminal-text.ts'
import { type BuiltEvent, auditEvent, auditLine } from '../../../support/audit-event-builder.ts'

/** The rows below the heads, a list of cells each. */
const cellsOf = (...events: readonly BuiltEvent[]): readonly (readonly string[])[] =>
  eventTable(events.map((event) => JSON.stringify(event)))
    .text.trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => row.split(/ {2,}/))

const cellOf = (title: string, event: BuiltEvent): string | undefined => {
  const [heads = ''] = eventTable([]).text.split('\n')
  return cellsOf(event)[0]?.[heads.split(/ {2,}/).indexOf(title)]
}

test('an event is a row: who, by which key, what, where, and how it ended (22.4)', () => {
  expect(eventTable([auditLine(), auditLine({ verb: 'deletecollection' })])).toEqual({
    text: `\
TIME                  USER  KEY  VERB              WHAT        NAMESPACE  TARGET        STAGE             CODE  DECISION
2026-11-28T12:00:00Z  ada   ci   get               secrets/db  shop       Cluster/east  ResponseComplete  200   -
2026-11-28T12:00:00Z  ada   ci   deletecollection  secrets/db  shop       Cluster/east  ResponseComplete  200   -
`,
    unread: 0,
  })
})

describe('cells (22.4)', () => {
  const annotations = (names: Readonly<Record<string, string>>): BuiltEvent =>
    auditEvent({
      annotations: Object.fromEntries(
        Object.entries(names).map(([name, text]) => [`platform.sh/${name}`, text]),
      ),
    })
  const objectRef = (fields: BuiltEvent): BuiltEvent =>
    auditEvent({ objectRef: { apiVersion: 'v1', ...fields } })

  // biome-ignore format: a table
  test.each([
    { title: 'TIME', event: auditEvent({ stageTimestamp: '2026-11-28T14:00:00.999999+02:00' }), cell: '2026-11-28T12:00:00Z' },
    { title: 'USER', event: auditEvent({ user: {} }), cell: '-' },
    { title: 'KEY', event: annotations({ 'key-id': 'k1' }), cell: 'k1' },
    { title: 'KEY', event: annotations({}), cell: '-' },
    { title: 'WHAT', event: objectRef({ resource: 'pods', subresource: 'log', name: 'web-0' }), cell: 'pods/web-0/log' },
    { title: 'WHAT', event: objectRef({ resource: 'deployments', apiGroup: 'apps', subresource: 'scale', name: 'web' }), cell: 'deployments.apps/web/scale' },
    { title: 'WHAT', event: objectRef({ resource: 'secrets' }), cell: 'secrets' },
    { title: 'WHAT', event: auditEvent({ objectRef: undefined }), cell: '/kubernetes/cluster/east/api/v1/namespaces/shop/secrets/db' },
    { title: 'WHAT', event: auditEvent({ objectRef: undefined, requestURI: `/${'x'.repeat(99)}` }), cell: `/${'x'.repeat(62)}…` },
    { title: 'NAMESPACE', event: objectRef({ resource: 'nodes' }), cell: '-' },
    { title: 'TARGET', event: annotations({ target: 'Management' }), cell: 'Management' },
    { title: 'TARGET', event: annotations({ target: 'ProjectSpace', project: 'web', space: 'dev' }), cell: 'ProjectSpace/web/dev' },
    { title: 'TARGET', event: annotations({ target: 'ProjectVirtualCluster', project: 'web', 'virtual-cluster': 'v1' }), cell: 'ProjectVirtualCluster/web/v1' },
    { title: 'STAGE', event: auditEvent({ stage: 'ResponseStarted' }), cell: 'ResponseStarted' },
    { title: 'CODE', event: auditEvent({ responseStatus: undefined }), cell: '-' },
    { title: 'DECISION', event: annotations({ decision: 'deny', reason: 'expired' }), cell: 'deny: expired' },
    { title: 'DECISION', event: annotations({ decision: 'deny' }), cell: 'deny' },
    { title: 'DECISION', event: annotations({}), cell: '-' },
  ])('$title is $cell', ({ title, event, cell }) => {
    expect(cellOf(title, event)).toBe(cell)
  })

  test('text without an event is left out and counted', () => {
    expect(eventTable(['7', '{', auditLine()])).toMatchObject({ unread: 2 })
    expect(eventTable(['7', '{', auditLine()]).text.split('\n')).toHaveLength(3)
  })
})

/** What a terminal acts on, or hides, or shows elsewhere. */
const HOSTILE = [
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\u009b31m',
  '\b\b\b',
  '\u007f',
  'a\rb',
  'a\nb',
  'a\tb',
  'a\u2028b',
  'a\u2029b',
  'a\u0085b',
  '\u202eadmin',
  '\u2066a\u2069',
  'a\u200bb',
  'a\ufeffb',
  'a\u00adb',
  '\u{e0041}',
  'a\u00a0b',
  'a\u3000b',
  'ada   ci   delete',
]

describe('client text in a terminal (22.4)', () => {
  test.each(HOSTILE.map((text) => ({ shown: JSON.stringify(text), text })))(
    '$shown is escaped, and fills one cell of one row',
    ({ text }) => {
      const event = auditEvent({
        user: { username: text },
        verb: text,
        objectRef: { resource: text, namespace: text, name: text, apiGroup: text },
        annotations: Object.fromEntries(
          ['access-key', 'target', 'cluster', 'decision', 'reason'].map((name) => [
            `platform.sh/${name}`,
            text,
          ]),
        ),
      })
      const table = eventTable([JSON.stringify(event)]).text
      expect(table.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u)
      expect(table.split('\n')).toHaveLength(3)
      expect(cellsOf(event)[0]).toHaveLength(10)
      expect(table).toContain('\\u')
    },
  )

  test.each(HOSTILE.map((text) => ({ shown: JSON.stringify(text), text })))(
    '$shown in an EventList is escaped, and keeps its value',
    ({ text }) => {
      // As another writer of JSON may write it: as it is, where JSON allows that.
      const json = JSON.stringify({ text }).replaceAll('\\u2028', '\u2028')
      const shown = visibleJson(json)
      expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
      expect(JSON.parse(shown)).toEqual({ text })
    },
  )

  test('white space of JSON stays', () => {
    expect(visibleJson('{\r\n\t"a": 1}')).toBe('{\r\n\t"a": 1}')
  })

  test.each(['Ada Lovelace', 'system:serviceaccount:a:b', 'é世界🙂', 'CORP\\ada', 'a-b_c.d@e'])(
    '%s is shown as it is',
    (text) => {
      expect(visible(text)).toBe(text)
      expect(visibleJson(JSON.stringify(text))).toBe(JSON.stringify(text))
    },
  )
})
