import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { faultsIn } from './support/architecture.ts'
import { sourceFile } from '../tools/structure/imports.ts'

const root = join(import.meta.dirname, '..')

test('the source tree keeps to its layers', () => {
  const paths = globSync('{src,test,tools,bench}/**/*.ts', { cwd: root })
  const files = paths.map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')))
  expect(files.length).toBeGreaterThan(50)
  expect(faultsIn(files)).toEqual([])
})

test.each(['keygen/command', 'syncer/try-patches'])('%s loads no Kubernetes client', (command) => {
  const loaded = new Set<string>()
  const load = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    const { imports } = sourceFile(path, readFileSync(join(root, path), 'utf8'))
    for (const { target, isRelative, isType } of imports)
      if (isRelative && !isType && target.endsWith('.ts')) load(target)
  }
  load(`src/commands/${command}.ts`)
  expect(loaded.size).toBeGreaterThan(3)
  expect([...loaded].filter((path) => path.startsWith('src/kube/'))).toEqual([])
})

const lines = (count: number): string => 'x\n'.repeat(count)

test.each<{ readonly name: string; readonly tree: Readonly<Record<string, string>> }>([
  {
    name: 'imports to the left, types, packages at their doors',
    tree: {
      'src/api/group.ts': `export const GROUP = 'g'`,
      'src/domain/lifetime.ts': `import { GROUP } from '../api/group.ts'`,
      'src/domain/settings/formats.ts': `import { RE2JS } from 're2js'`,
      'src/runtime/version.ts': `import json from '../../package.json' with { type: 'json' }`,
      'src/runtime/clock.ts': `import { parse } from 'yaml'\nimport { readFileSync } from 'node:fs'`,
      'src/kube/client.ts': `import type { Clock } from '../runtime/clock.ts'\nimport { Pool } from 'undici'`,
      'src/controllers/key/plan.ts': `import type { Client } from '../../kube/client.ts'\nimport {\n  a,\n  type B,\n} from './removal.ts'`,
      'src/controllers/key/removal.ts': `import { GROUP } from '../../api/group.ts'`,
      'src/commands/manager/command.ts': `import * as plan from '../../controllers/key/plan.ts'`,
      'src/main.ts': `const load = () => import('./commands/manager/command.ts')`,
    },
  },
  { name: 'the longest file', tree: { 'src/api/meta.ts': lines(350) } },
  { name: 'a longer generated one', tree: { 'src/api/config.gen.ts': lines(351) } },
])('the check of layers accepts $name', ({ tree }) => {
  expect(faultsOf(tree)).toEqual([])
})

test.each<{
  readonly name: string
  readonly path: string
  readonly text: string
  readonly fault: string
  readonly others?: Readonly<Record<string, string>>
}>([
  {
    name: 'an import to the right',
    path: 'src/domain/lifetime.ts',
    text: `import type { Client } from '../kube/client.ts'`,
    fault: 'domain must not import kube (src/kube/client.ts)',
    others: { 'src/kube/client.ts': '' },
  },
  {
    name: 'an import to the right on several lines',
    path: 'src/kube/client.ts',
    text: `import {\n  type A,\n  b,\n} from '../commands/manager/command.ts'`,
    fault: 'kube must not import commands (src/commands/manager/command.ts)',
    others: { 'src/commands/manager/command.ts': '' },
  },
  {
    name: 'a re-export to the right',
    path: 'src/kube/client.ts',
    text: `export * from '../commands/manager/command.ts'`,
    fault: 'kube must not import commands (src/commands/manager/command.ts)',
    others: { 'src/commands/manager/command.ts': '' },
  },
  {
    name: 'a dynamic import to the right',
    path: 'src/kube/client.ts',
    text: `const late = () => import('../commands/manager/command.ts')`,
    fault: 'kube must not import commands (src/commands/manager/command.ts)',
    others: { 'src/commands/manager/command.ts': '' },
  },
  {
    name: 'one of the unrelated layers importing another',
    path: 'src/controllers/key/reconcile.ts',
    text: `import { proxy } from '../../gateway/proxy.ts'`,
    fault: 'controllers must not import gateway (src/gateway/proxy.ts)',
    others: { 'src/gateway/proxy.ts': '' },
  },
  {
    name: 'private keys in the gateway',
    path: 'src/gateway/proxy.ts',
    text: `import { sign } from '../signing/sign.ts'`,
    fault: 'gateway must not import signing (src/signing/sign.ts)',
    others: { 'src/signing/sign.ts': '' },
  },
  {
    name: 'a runtime that imports Kubernetes',
    path: 'src/runtime/log.ts',
    text: `import { GROUP } from '../api/group.ts'`,
    fault: 'runtime must not import api (src/api/group.ts)',
    others: { 'src/api/group.ts': '' },
  },
  {
    name: 'a folder without a layer',
    path: 'src/lib/client.ts',
    text: `import { GROUP } from '../api/group.ts'`,
    fault: 'lib is no layer',
    others: { 'src/api/group.ts': '' },
  },
  {
    name: 'a program that imports its tests',
    path: 'src/kube/client.ts',
    text: `import { manualClock } from '../../test/support/manual-clock.ts'`,
    fault: 'imports test/support/manual-clock.ts, no layer of src',
    others: { 'test/support/manual-clock.ts': '' },
  },
  {
    name: 'a package imported outside its door',
    path: 'src/commands/manager/command.ts',
    text: `import { KubeConfig } from '@kubernetes/client-node/dist/config.js'`,
    fault: 'imports @kubernetes/client-node, which only src/kube/ may',
  },
  {
    name: 'a package without a door',
    path: 'src/kube/client.ts',
    text: `import got from 'got'`,
    fault: 'imports got, which has no door in DOORS',
  },
  {
    name: 'a Node module in the domain',
    path: 'src/domain/key.ts',
    text: `import { createHash } from 'node:crypto'`,
    fault: 'is pure and must not import node:crypto',
  },
  {
    name: 'a plan with side effects',
    path: 'src/controllers/key/plan.ts',
    text: `import { type A, isNotFound } from '../../kube/failure.ts'`,
    fault: 'is pure and must not import src/kube/failure.ts',
    others: { 'src/kube/failure.ts': '' },
  },
  {
    name: 'a plan with side effects through the file beside it',
    path: 'src/controllers/key/removal.ts',
    text: `import { isNotFound } from '../../kube/failure.ts'`,
    fault: 'is pure and must not import src/kube/failure.ts',
    others: {
      'src/kube/failure.ts': '',
      'src/controllers/key/plan.ts': `import { removal } from './removal.ts'`,
    },
  },
  {
    name: 'a clock in the domain',
    path: 'src/domain/lifetime.ts',
    text: `export const isOver = (endMs: number) => Date.now() > endMs`,
    fault: 'is pure and must not use Date.now',
  },
  {
    name: 'an import in an unknown form',
    path: 'src/kube/client.ts',
    text: `import { a } from "./b.ts"`,
    fault: 'has an import in an unknown form',
  },
  {
    name: 'a computed import',
    path: 'src/kube/client.ts',
    text: `const load = (name: string) => import(name)`,
    fault: 'has an import in an unknown form',
  },
  {
    name: 'a hidden import',
    path: 'src/kube/client.ts',
    text: `const fs = process.getBuiltinModule('fs')`,
    fault: 'uses getBuiltinModule',
  },
  {
    name: 'an import without names',
    path: 'src/kube/client.ts',
    text: `import { a } from './gone.ts'`,
    fault: 'imports src/kube/gone.ts, which is not there',
  },
  {
    name: 'a default export',
    path: 'test/support/manual-clock.ts',
    text: `export default {}`,
    fault: 'has a default export',
  },
  {
    name: 'a long file',
    path: 'tools/generate.ts',
    text: lines(351),
    fault: 'has 351 lines, more than 350',
  },
  ...['src/kube/key-helper.ts', 'src/kube/Utils.ts', 'src/kube/watch-manager.ts'].map((path) => ({
    name: path,
    path,
    text: '',
    fault: 'has a name that says nothing',
  })),
])('the check of layers finds $name', ({ path, text, fault, others = {} }) => {
  expect(faultsOf({ ...others, [path]: text })).toEqual([{ path, fault }])
})

function faultsOf(tree: Readonly<Record<string, string>>) {
  return faultsIn(Object.entries(tree).map(([path, text]) => sourceFile(path, text)))
}
