// Self-service of keys and tokens through a running gateway (contract 12.1 to 12.3, 12.5): one gateway for all tests, as
// it takes a while to start.
import { testCallerRights } from './caller-rights.ts'
import { testKeyCreation } from './create-keys.ts'
import { testForeignFields } from './foreign-fields.ts'
import { testTokenCreation } from './create-tokens.ts'
import { testListsAndWatches } from './list-keys.ts'
import { testKeysPutAgain } from './put-again.ts'
import { testKeyRevocation } from './revoke-keys.ts'
import { testKeyUpdates } from './update-keys.ts'
import { testSelfReviews } from './self-reviews.ts'
import { startSelfService } from './self-service-gateway.ts'

const setup = await startSelfService()

testCallerRights(setup)
testListsAndWatches(setup)
testKeyCreation(setup)
testForeignFields(setup)
testKeyUpdates(setup)
testKeysPutAgain(setup)
testSelfReviews(setup)
testTokenCreation(setup)
testKeyRevocation(setup)
