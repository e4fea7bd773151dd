// test/golden shows in a review what a change of config/ ships.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import {
  GOLDEN,
  GOLDEN_KUSTOMIZATIONS,
  goldenFile,
  goldenText,
} from '../../../tools/golden/manifests.ts'

const { kubectl } = await ensureBinaries(console.log)

test.each(GOLDEN_KUSTOMIZATIONS)(
  'config/%s builds what test/golden shows; `make generate` writes it',
  async (name) => {
    const golden = readFileSync(join(GOLDEN, goldenFile(name)), 'utf8')
    expect(await goldenText(kubectl, name)).toBe(golden)
  },
)

test('test/golden has no other file', () => {
  expect(readdirSync(GOLDEN).toSorted()).toEqual(GOLDEN_KUSTOMIZATIONS.map(goldenFile).toSorted())
})
