// What the tests ask of Docker beyond what testcontainers offers.
import { getContainerRuntimeClient, ImageName } from 'testcontainers'
import { beforeEach, inject } from 'vitest'
import type { Containers } from './global-setup.ts'

/** Where containers run, and the product's image. */
export type ContainersReady = Extract<Containers, { readonly kind: 'ready' }>

/** What the tests of a file run on; null where they can't: they are skipped, with the reason. */
export function containersOrSkip(): ContainersReady | null {
  const containers = inject('containers')
  if (containers.kind === 'ready') return containers
  beforeEach(({ skip }) => skip(containers.because))
  return null
}

/** Whether an image is there. */
export async function imageExists(image: string): Promise<boolean> {
  const client = await getContainerRuntimeClient()
  return client.image.exists(ImageName.fromString(image))
}
