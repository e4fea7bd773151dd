// Which controllers let new objects go before resyncs: those of which there are many objects.
import { expect, test } from 'vitest'
import { tokenController } from '../../../src/controllers/directclusterendpointtoken/setup.ts'
import { keyController } from '../../../src/controllers/ownedaccesskey/setup.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { keyStore, tokenStore } from '../../support/token-builder.ts'

test.each([keyController, tokenController])(
  'a quarter of the workers of $name may be busy with resyncs',
  ({ setUp }) => {
    const setup = {
      settings: { configName: 'config', workers: 16, expiredRetentionMs: 0, tokenMaxTtlMs: 0 },
      stores: { keys: keyStore(), tokens: tokenStore(), configMaps: {}, signingSecrets: {} },
      clock: manualClock(0),
      log: memoryLog().log,
      metrics: {},
    }
    expect(setUp(setup as never)).toMatchObject({ workers: 16, resyncsAtOnce: 4 })
  },
)
