// `make run` on a full disk: etcd and Node would end with a stack trace.
import { statfs } from 'node:fs/promises'

const MIB = 1024 * 1024
const LEAST_MIB = 512

/** @throws Error with the reason when the folder's disk has less than half a GiB for this user */
export async function mustHaveSpace(folder: string): Promise<void> {
  const fault = spaceFault(folder, await statfs(folder))
  if (fault !== null) throw new Error(fault)
}

/** The fault of a folder's disk that has too little space; null = none. */
export function spaceFault(
  folder: string,
  { bavail, bsize }: { readonly bavail: number; readonly bsize: number },
): string | null {
  const freeMib = Math.floor((bavail * bsize) / MIB)
  return freeMib >= LEAST_MIB
    ? null
    : `the disk of ${folder} has ${freeMib} MiB left, and make run needs ${LEAST_MIB}: free some, or set RUN_DIR to a folder elsewhere`
}
