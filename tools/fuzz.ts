// `make fuzz`. With --target a parser, for --seconds (60): changed inputs of its corpus, from --seed; `all` runs each target
// in turn. Without one, the gateway beside the API server's audit log: FUZZ_REQUESTS requests (1,000,000 when absent) from
// FUZZ_SEED (a new one when absent). Ends with 1 where an invariant does not hold, or the gateway and the API server differ.
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { addToCorpus, readCorpus } from './fuzz/corpus.ts'
import { fuzz, type NextRandom } from './fuzz/session.ts'
import { FUZZ_TARGETS } from './fuzz/targets.ts'

const TESTS = [
  'test/cluster/gateway/audit-log-attribution.private.test.ts',
  'test/cluster/gateway/target-attribution.private.long.test.ts',
]

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: '' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const names = Object.keys(FUZZ_TARGETS)
const chosen = values.target === 'all' ? names : [values.target]
if (values.target === '') {
  process.env['FUZZ_REQUESTS'] ??= '1000000'
  const vitest = await startVitest(TESTS, { project: ['private'], watch: false, allowOnly: false })
  await vitest.close()
} else {
  for (const name of chosen) fuzzTarget(name)
}

function fuzzTarget(name: string): void {
  const target = FUZZ_TARGETS[name]
  if (target === undefined) {
    console.error(`no fuzz target ${JSON.stringify(name)}: there are ${names.join(', ')}, and all`)
    process.exitCode = 2
    return
  }
  const endMs = performance.now() + Number(values.seconds) * 1000
  const { runs, corpus, failure } = fuzz(target, {
    corpus: readCorpus(name),
    random: randomFrom(Number(values.seed)),
    goesOn: () => performance.now() < endMs,
  })
  if (failure === null) {
    console.log(
      `${name}: ${runs} inputs, ${corpus.length} outcomes, ${addToCorpus(name, corpus)} new`,
    )
    return
  }
  process.exitCode = 1
  console.error(`${name}: ${failure.error.message}, for the input ${JSON.stringify(failure.input)}`)
  console.error(
    `seed ${values.seed}, input ${runs}; add the input to test/fuzz/${name}.json with the fix`,
  )
  if (failure.error.cause) console.error(failure.error.cause)
}

/** Mulberry32, as in test/support/random.ts. */
function randomFrom(seed: number): NextRandom {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
