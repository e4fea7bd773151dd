// Every overlay builds: its patches name places in the manifests below it, which a change there may move.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { CONFIG, buildKustomization, objectsIn } from './installer.ts'

const plane = await sharedControlPlane()

test.each(readdirSync(join(CONFIG, 'overlays')))('config/overlays/%s builds', async (name) => {
  const objects = objectsIn(await buildKustomization(plane, `overlays/${name}`))
  expect(objects.length).toBeGreaterThan(3)
})
