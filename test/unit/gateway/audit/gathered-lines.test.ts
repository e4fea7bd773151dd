import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { callTo } from '../request-builder.ts'
import { CRASHING, OWN_KEYS, PODS, auditedGateway, refusedAs } from './audited-gateway.ts'

const LINE = { text: '{}', withoutBodies: () => '{}' }
/** A line that waits for a request that is over waits for ever: the clock stands. */
const BRIEF = { timeout: 10_000 }

test.each<{ readonly name: string; readonly target?: string; readonly given?: object }>([
  { name: 'reads' },
  { name: 'watches', target: `${PODS}?watch=1` },
  { name: 'refused paths', target: '/nothing' },
  { name: 'questions without a right', target: '/kubernetes/management/audit/events' },
  { name: 'requests without a key', given: { authenticate: refusedAs('none') } },
  { name: 'crashes', target: OWN_KEYS, given: CRASHING },
])(
  'the next line after $name waits for none of them (22.2)',
  BRIEF,
  async ({ target = PODS, given }) => {
    const rules = [{ level: 'RequestResponse', omitStages: ['RequestReceived'] }]
    const { respond, recorder } = auditedGateway(rules, given)
    for (let count = 0; count < 3; count += 1) {
      const { body, ended } = await respond(callTo(target))
      if (body instanceof Readable) await body.toArray()
      ended?.('complete')
    }
    await expect(recorder.current?.log.write(LINE)).resolves.toBeUndefined()
  },
)
