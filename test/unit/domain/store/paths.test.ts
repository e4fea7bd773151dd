import { describe, expect, test } from 'vitest'
import {
  SECRET_STORE_LABEL,
  SECRET_STORE_PATH_ANNOTATION,
  SECRET_STORE_VERSION_ANNOTATION,
} from '../../../../src/api/secret-store-names.ts'
import { pathFault, projectOf, storeRequestOf } from '../../../../src/domain/store/stored-secret.ts'

const requestOf = (path: string, engine: '1' | '2', project = 'shop') =>
  storeRequestOf(
    {
      name: 'app',
      labels: { [SECRET_STORE_LABEL]: 'Pull' },
      annotations: {
        [SECRET_STORE_PATH_ANNOTATION]: path,
        [SECRET_STORE_VERSION_ANNOTATION]: engine,
      },
    },
    project,
  )

/** What would lead out of the project, or might where a server decodes or cleans it once more. */
// biome-ignore format: a table
const ESCAPES = [
  // Steps up.
  '..', '../', '../blog', '../blog/db', '../../sys/mounts', 'a/..', 'a/../..', 'a/../../blog', './../blog', 'a/./../../blog', '..a/../..', 'a/b/../../../blog/db', '/..', '..//', '.../../..',
  // This step.
  '.', './', './a', 'a/.', 'a/./b', 'a//.',
  // Encoded.
  '%2e%2e', '%2E%2E/blog', '%2e%2e%2fblog', '..%2fblog', '..%2Fblog', '%2e./blog', '.%2e/blog', '%252e%252e/blog', '%252e%252e%252fblog', 'a%2f..%2f..%2fblog', '%c0%ae%c0%ae/blog', '%u002e%u002e/blog', 'a%00', '&#46;&#46;/blog', '\\u002e\\u002e/blog',
  // Absolute, and other mounts and APIs.
  '/', '/app', '//app', '/v1/sys/mounts', '/secret/data/blog/db', 'https://evil.example', '//evil.example/a', 'file:///etc/passwd', 'a:b', '~/a', '~root',
  // Backslashes.
  '\\', '..\\blog', 'a\\..\\..\\blog', '\\\\evil\\a', 'a\\b',
  // Empty segments and slashes at an end.
  '', 'a//b', 'a/', 'app//', '///', 'a/b/',
  // Parts of a URL.
  'a?version=1', 'a?list=true', 'a#b', 'a;b', 'a;/../b', 'a&b', 'a=b', 'a@b', 'user:pw@host', 'a+b', 'a,b', 'a*', '*', '+', 'a/+/b', '${a}', '{{identity}}', '$(KEY)', '`a`', 'a|b', 'a"b', "a'b", '<a>', '[a]', '(a)', '!a', '^a',
  // White space, control characters and line ends.
  ' ', 'a b', ' app', 'app ', 'app\n', '\napp', 'a\r\nHost: evil', 'a\tb', 'a\u000bb', 'a\u0000', '\u0000', 'a\u0000/../b', 'a\u007f', 'a\u0085b', 'a\u2028b', '..\n', '..\u0000',
  // Characters that look alike, join or vanish.
  '\u2024\u2024/blog', '\u2025/blog', '\uFF0E\uFF0E/blog', '\u3002\u3002/blog', 'a\u2215b', 'a\u2044b', 'a\uFF0Fb', 'a\u29F8b', 'a\uFF3Cb', '\u0430pp', 'app\u200b', '\u202Egpj', '.\u200b./blog', '\uFEFFapp', 'ａpp', 'ä', 'a\u0308', '😀', 'a\ud800', '\u212A', '\u017F', '\u0661',
  // Length.
  'a'.repeat(513), `${'a/'.repeat(256)}b`, '/'.repeat(512), '../'.repeat(170),
]

/** Paths that look odd, and are one entry of the project all the same. */
// biome-ignore format: a table
const PATHS = [
  'app', 'a', 'A', '0', '_', '-', '-a', '--', 'a-b', 'a_b', 'a.b', '.a', '..a', 'a..', '...', '....', 'a/...', 'a/b/c', 'db/main', 'data', 'metadata', 'sys/mounts', 'auth/token', 'config', 'delete/x', 'shop', 'shop/app', 'blog/db', '__proto__', 'constructor', 'null', 'undefined', 'CON', 'a'.repeat(512), `${'a/'.repeat(255)}bc`,
]

describe('a path leads to an entry of its project, or nowhere (36.2)', () => {
  test.each(ESCAPES)('%j is refused', (path) => {
    expect(pathFault(path)).not.toBeNull()
    for (const engine of ['1', '2'] as const) {
      const outcome = requestOf(path, engine)
      expect(outcome.ok).toBe(false)
      // A fault quotes nothing of the path, which goes into an Event.
      expect(path.length > 3 && JSON.stringify(outcome).includes(path)).toBe(false)
    }
  })

  test.each(PATHS)('%j is accepted', (path) => {
    expect(requestOf(path, '2')).toEqual({
      ok: true,
      request: { direction: 'Pull', path: `shop/${path}`, engine: 2 },
    })
  })

  test.each(PATHS)('%j stays below the project however a server cleans it', (path) => {
    const whole = `shop/${path}`
    expect(new URL(`https://store/v1/secret/data/${whole}`).pathname).toBe(
      `/v1/secret/data/${whole}`,
    )
    expect(decodeURIComponent(whole)).toBe(whole)
    expect(encodeURI(whole)).toBe(whole)
    expect(whole.normalize('NFKC')).toBe(whole)
  })

  test('has 512 characters at most, and the fault says which rule it breaks', () => {
    expect(pathFault('a'.repeat(512))).toBeNull()
    expect(pathFault('a'.repeat(1_000_000))).toBe('has more than 512 characters')
    expect(pathFault('..')).toContain('between them, none of them')
  })

  test('there are at least 60 escapes', () => {
    expect(new Set(ESCAPES).size).toBeGreaterThan(100)
  })
})

describe('version 1 of the engine (36.2)', () => {
  // Read as version 1, a mount of version 2 would take them for its API.
  test.each([
    'config',
    'data',
    'delete',
    'destroy',
    'detailed-metadata',
    'metadata',
    'subkeys',
    'undelete',
  ])('has no project %s, and version 2 has', (project) => {
    for (const path of ['app', 'blog/db', 'data/app'])
      expect(requestOf(path, '1', project).ok).toBe(false)
    expect(requestOf('app', '2', project)).toMatchObject({ request: { path: `${project}/app` } })
  })

  test.each(['shop', 'datas', 'data-x', 'meta', 'x-data', 'configs'])(
    'has project %s',
    (project) => {
      expect(requestOf('data/app', '1', project)).toMatchObject({
        ok: true,
        request: { path: `${project}/data/app`, engine: 1 },
      })
    },
  )
})

describe('the project of a namespace (36.2)', () => {
  // biome-ignore format: a table
  test.each<[namespace: string, prefix: string, project: string | null]>([
    ['p-shop', 'p-', 'shop'],
    ['p-p-shop', 'p-', 'p-shop'],
    ['p-shop-p-', 'p-', 'shop-p-'],
    ['p--shop', 'p-', '-shop'],
    ['p-', 'p-', null],
    ['p', 'p-', null],
    ['', 'p-', null],
    ['shop', 'p-', null],
    ['shop-p-', 'p-', null],
    ['x-p-shop', 'p-', null],
    ['xp-shop', 'p-', null],
    ['P-shop', 'p-', null],
    ['pp-shop', 'p-', null],
    ['p.shop', 'p-', null],
    ['project-shop', 'p-', null],
    ['project-shop', 'project-', 'shop'],
    ['project', 'project', null],
    ['projects', 'project', 's'],
    ['\u0440-shop', 'p-', null],
  ])('of %s with prefix %s is %s', (namespace, prefix, project) => {
    expect(projectOf(namespace, prefix)).toBe(project)
  })

  test('two namespaces have no project in common', () => {
    const names = ['p-a', 'p-a-b', 'p-p-a', 'p-a.b', 'p-A']
    const projects = names.map((name) => projectOf(name, 'p-'))
    expect(new Set(projects).size).toBe(names.length)
    expect(projects.every((project) => project === null || !project.includes('/'))).toBe(true)
  })
})
