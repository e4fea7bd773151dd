// Self-service of keys through a gateway that runs (contract 12.1 to 12.3, 12.5): one for all, since each
// takes a while to start.
import { testChanging } from './changing.ts'
import { testLists } from './lists.ts'
import { testMaking } from './making.ts'
import { testRevoking } from './revoking.ts'
import { testTokens } from './tokens.ts'
import { testWho } from './who.ts'
import { startWorld } from './world.ts'

const world = await startWorld()

testWho(world)
testLists(world)
testMaking(world)
testChanging(world)
testTokens(world)
testRevoking(world)
