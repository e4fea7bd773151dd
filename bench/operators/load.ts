// Keys and tokens as `load` of bench/peers makes and deletes them.
import { type CountedLoad, type KeysLoad, runLoad } from '../measure/load.ts'
import type { Testbed } from './comparators.ts'

/** Flags of `load`, without their hyphens. */
type Flags = Readonly<Record<string, string | number>>

const argsOf = ({ plane }: Testbed, command: string, flags: Flags): readonly string[] => [
  command,
  ...Object.entries({ kubeconfig: plane.adminKubeconfig, ...flags }).map(
    ([name, value]) => `--${name}=${value}`,
  ),
]

/** Creates objects, and waits until the operator has made each ready. @throws Error when one is not */
export const createLoad = (bed: Testbed, flags: Flags): Promise<KeysLoad> =>
  runLoad<KeysLoad>(bed.peers.load, argsOf(bed, 'keys', flags))

/** Creates objects and makes the writes of an operator, but without one. */
export const floorLoad = (bed: Testbed, flags: Flags): Promise<KeysLoad> =>
  runLoad<KeysLoad>(bed.peers.load, argsOf(bed, 'floor', flags))

/** Writes the status of existing keys, without an operator. */
export const statusLoad = (bed: Testbed, flags: Flags): Promise<CountedLoad> =>
  runLoad<CountedLoad>(bed.peers.load, argsOf(bed, 'status', flags))

/** Deletes objects, and waits until all are gone. */
export const deleteLoad = (bed: Testbed, flags: Flags): Promise<CountedLoad> =>
  runLoad<CountedLoad>(bed.peers.load, argsOf(bed, 'delete', flags))
