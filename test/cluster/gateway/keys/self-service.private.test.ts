// Self-service of keys through a gateway that runs (contract 12.1 to 12.3, 12.5): one for all, since each
// takes a while to start.
import { testWho } from './caller-rights.ts'
import { testMaking } from './create-keys.ts'
import { testTokens } from './create-tokens.ts'
import { testLists } from './list-keys.ts'
import { testRevoking } from './revoke-keys.ts'
import { startWorld } from './self-service-gateway.ts'
import { testChanging } from './update-keys.ts'

const world = await startWorld()

testWho(world)
testLists(world)
testMaking(world)
testChanging(world)
testTokens(world)
testRevoking(world)
