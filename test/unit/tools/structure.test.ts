import { describe, expect, test } from 'vitest'
import { sourceFile } from '../../../tools/structure/imports.ts'
import { measure } from '../../../tools/structure/measures.ts'

const measuresOf = (tree: Readonly<Record<string, string>>) =>
  measure(Object.entries(tree).map(([path, text]) => sourceFile(path, text)))

const lines = (count: number): string => 'x\n'.repeat(count)

describe('the structure of the source tree', () => {
  test('counts the files of src and the small ones', () => {
    const found = measuresOf({
      'src/a.ts': lines(29),
      'src/b.ts': lines(30),
      'src/c.ts': lines(210),
      'src/d.ts': lines(211),
      'src/e.gen.ts': lines(500),
      'test/f.ts': lines(1),
    })
    expect(found.files).toHaveLength(5)
    expect(found.small).toEqual(['src/a.ts'])
  })

  test.each<{ readonly name: string; readonly user: string }>([
    { name: 'a named import', user: `import { a } from './a.ts'` },
    { name: 'a renamed import', user: `import { a as other } from './a.ts'` },
    { name: 'an import on several lines', user: `import {\n  a,\n} from './a.ts'` },
    { name: 'a type', user: `import { type a } from './a.ts'` },
    { name: 'a namespace', user: `import * as all from './a.ts'\nall.a()` },
    { name: 'a dynamic import', user: `const { a } = await import('./a.ts')` },
    { name: 'a re-export', user: `export { a } from './a.ts'` },
  ])('counts an export as used by $name', ({ user }) => {
    const { unused } = measuresOf({ 'src/a.ts': 'export const a = 1', 'src/b.ts': user })
    expect(unused.filter((one) => one.startsWith('src/a.ts'))).toEqual([])
  })

  test.each([
    'export const a = 1',
    'export function a() {}',
    'export async function* a() {}',
    'export abstract class a {}',
    'export interface a {}',
    'export type a = 1',
    'const b = 1\nexport { b as a }',
  ])('reports an export without a user: %s', (text) => {
    const user = `import * as all from './one.ts'\nimport { other } from './other.ts'`
    const found = measuresOf({ 'src/one.ts': text, 'src/b.ts': user, 'src/one.gen.ts': text })
    expect(found.unused).toEqual(['src/one.ts: a'])
    expect(found.forTests).toEqual([])
  })

  test('distinguishes exports that only tests use from those that a tool uses', () => {
    const { unused, forTests } = measuresOf({
      'src/a.ts': 'export const a = 1\nexport const b = 2',
      'test/a.test.ts': `import { a, b } from '../src/a.ts'`,
      'tools/b.ts': `import { b } from '../src/a.ts'`,
    })
    expect(unused).toEqual([])
    expect(forTests).toEqual(['src/a.ts: a'])
  })

  test('reports circular imports once, also of types alone', () => {
    const { circles } = measuresOf({
      'src/a.ts': `import type { B } from './b.ts'`,
      'src/b.ts': `import type { C } from './c.ts'`,
      'src/c.ts': `import { a } from './a.ts'\nimport { d } from './d.ts'`,
      'src/d.ts': `import { e } from './e.ts'`,
      'src/e.ts': `export * from './d.ts'`,
      'src/f.ts': `import { a } from './a.ts'`,
    })
    expect(circles).toEqual([
      ['src/a.ts', 'src/b.ts', 'src/c.ts'],
      ['src/d.ts', 'src/e.ts'],
    ])
  })

  test('reports folders that import each other through different files', () => {
    const { circles } = measuresOf({
      'src/a/one.ts': `import { two } from '../b/two.ts'`,
      'src/a/three.ts': '',
      'src/b/two.ts': '',
      'src/b/four.ts': `import type { Five } from '../c/deep/five.ts'`,
      'src/c/deep/five.ts': '',
      'src/c/six.ts': `import { three } from '../a/three.ts'`,
      'tools/a.ts': `import { b } from '../bench/b.ts'`,
      'bench/b.ts': '',
      'bench/c.ts': `import { d } from '../tools/d.ts'`,
      'tools/d.ts': '',
    })
    expect(circles).toEqual([
      ['src/a/', 'src/b/', 'src/c/'],
      ['bench/', 'tools/'],
    ])
  })

  test('finds no circle in a file beside a folder that it imports, and that imports its neighbours', () => {
    const { circles } = measuresOf({
      'src/handler.ts': `import { stage } from './stages/stage.ts'`,
      'src/stages/stage.ts': `import { ERRORS } from '../errors.ts'`,
      'src/errors.ts': '',
    })
    expect(circles).toEqual([])
  })

  test('reports type names that two files declare, exported or not', () => {
    const { ambiguous } = measuresOf({
      'src/a.ts': 'export interface Step {}\nexport type Page = 1',
      'src/b.ts': 'type Step = 1\n// type Page = 2',
      'src/c.ts': `import type { Page } from './a.ts'`,
      'test/d.ts': 'class Page {}',
    })
    expect(ambiguous).toEqual(['Step: src/a.ts, src/b.ts'])
  })
})
