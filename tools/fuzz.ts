// Compares far more requests than the tests do: `node tools/fuzz.ts`, FUZZ_REQUESTS of them (1,000,000 when
// absent) from FUZZ_SEED (a new one when absent). Ends with 1 where the gateway and the API server differ.
import { startVitest } from 'vitest/node'

const TESTS = [
  'test/cluster/gateway/audit-log-attribution.private.test.ts',
  'test/cluster/gateway/target-attribution.private.long.test.ts',
]

process.env['FUZZ_REQUESTS'] ??= '1000000'
const vitest = await startVitest(TESTS, { project: ['private'], watch: false, allowOnly: false })
await vitest.close()
