// Lists of any length, page by page, and selectors for them.
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { KubeClient, ListQuery } from './client.ts'

/** Objects in a page: what kubectl asks for, too. */
const PAGE_SIZE = 500

/**
 * The objects of a list, one page after the other, as they were when it began. Objects lack apiVersion and kind.
 *
 * @throws StatusError or NoResponseError when a page can't be read
 */
export async function* listPages(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  query: ListQuery = {},
): AsyncGenerator<readonly KubeObject[]> {
  let next: string | undefined
  do {
    const page = await client.list(resource, query, PAGE_SIZE, next)
    yield page.items
    ;({ next } = page)
  } while (next !== undefined)
}

/** A value in a field selector: the API server splits one at these characters. */
export const fieldSelectorValue = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&')
