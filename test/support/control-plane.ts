// Control planes for tests: real ones, from tools/control-plane, copies of one with the shipped manifests.
//
//   project   files                              control plane and operator
//   unit      test/unit, test/*.test.ts          none
//   cluster   test/cluster/**/*.test.ts          sharedControlPlane() and sharedOperator(): one of each
//                                                for all files, which run four at a time
//   docs      test/docs/**/*.test.ts             a `make run` of its own
//   private   test/cluster/**/*.private.test.ts  privateControlPlane(): one that no other file has
//                                                meanwhile, as it was before any had it (control-plane-reset.ts), and
//                                                startOperator(); two files at a time
//   own       test/cluster/**/*.own.test.ts      ownControlPlane(): started for the file, with flags of
//   faults    test/faults/**/*.test.ts           its own, to be broken; two files at a time
//   direct    test/direct/**/*.test.ts           as own, and startStockServer(): a second API server
//                                                that takes the tokens; one file at a time
//   sync      test/sync/**/*.test.ts             syncPlanes(): a virtual cluster and its host, shared by all
//                                                files, one at a time; each starts syncers of its own
//   sync-own  test/sync/**/*.own.test.ts         ownSyncPlanes(): two for the file, to be broken
//   container test/container/**/*.test.ts        in containers, as is the product; one file at a time
//
// Two operators on one API server would undo each other's work, and the settings in force bind every
// key. So a file of `cluster` makes objects under names of its own and looks at them; it starts no
// operator, writes no Config and stops nothing. A test that needs an operator with its own flags or
// environment, a restart of it or another cap is a `private` one. One that stops a server, or needs one with
// flags, is an `own` one, or one of `faults`, which are repeated FAULT_ROUNDS times.
import { readFile } from 'node:fs/promises'
import { afterAll, inject } from 'vitest'
import { FIELD_MANAGER } from '../../src/api/names.ts'
import { type KubeClient, createClient } from '../../src/kube/client/client.ts'
import { connect } from '../../src/kube/client/connection.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Access, createAccess } from '../../tools/control-plane/access.ts'
import { ensureBinaries } from '../../tools/control-plane/binaries.ts'
import type { ControlPlane, ControlPlaneOptions } from '../../tools/control-plane/control-plane.ts'
import { type Operator, type OperatorCoordinates, observeProcess } from './command-process.ts'
import { reset } from './control-plane-reset.ts'
import {
  type Coordinates,
  OPERATOR_ACCOUNT,
  coordinatesOf,
  startInstalled,
} from './installed-control-plane.ts'
import { type Raw, createRaw } from './raw-client.ts'

/** A control plane as a test file sees it. */
export interface TestControlPlane extends Coordinates, Access {
  /** A typed client as a member of system:masters. */
  readonly admin: KubeClient
  /** Raw requests, as admin unless told otherwise, for what the typed client does not offer. */
  readonly raw: Raw
  /** A kubeconfig of the operator's own ServiceAccount, with the shipped RBAC. */
  operatorKubeconfig(): Promise<string>
}

/** A control plane that a test file may stop and restart. */
export type OwnControlPlane = TestControlPlane &
  Pick<ControlPlane, 'etcd' | 'apiServer' | 'controllerManager' | 'compactEtcd'>

declare module 'vitest' {
  interface ProvidedContext {
    readonly controlPlane: Coordinates
    readonly operator: OperatorCoordinates
  }
}

/** The control plane of project `cluster`. Call it while the test file loads. */
export async function sharedControlPlane(): Promise<TestControlPlane> {
  return reachedControlPlane(inject('controlPlane'))
}

/** The operator of project `cluster`, with default flags and an issuer; only for reading. */
export function sharedOperator(): Operator {
  return observeProcess(inject('operator'))
}

/**
 * A control plane that no other file uses meanwhile, with the product's manifests and nothing else. Call it
 * once while the test file loads, in project `private`.
 */
export async function privateControlPlane(): Promise<TestControlPlane> {
  const worker = process.env['VITEST_POOL_ID']
  const coordinates = inject('planes')[Number(worker) - 1]
  if (coordinates === undefined) throw new Error(`no control plane for worker ${worker}`)
  const plane = await reachedControlPlane(coordinates)
  await reset(plane, plane.raw)
  return plane
}

/**
 * A control plane of the test file's own, with the product's manifests, stopped after its last test.
 * Call it while the test file loads, in a project whose files have their own.
 */
export async function ownControlPlane(
  options: Pick<ControlPlaneOptions, 'apiServerFlags'> = {},
): Promise<OwnControlPlane> {
  return ownedControlPlane(await startInstalled({ ...options, copyOf: inject('template') }))
}

/** A control plane that the test file has started itself; it is stopped after the last test. */
export async function ownedControlPlane(running: ControlPlane): Promise<OwnControlPlane> {
  afterAll(() => running.stop())
  return { ...running, ...(await testControlPlane(coordinatesOf(running), running)) }
}

/** A control plane that another process has started. Call it while the test file loads. */
export async function reachedControlPlane(coordinates: Coordinates): Promise<TestControlPlane> {
  const caPem = await readFile(coordinates.caFile, 'utf8')
  const binaries = await ensureBinaries(console.log)
  const access = createAccess(binaries, coordinates.dataDir, { url: coordinates.url, caPem })
  return testControlPlane(coordinates, access)
}

async function testControlPlane(
  coordinates: Coordinates,
  access: Access,
): Promise<TestControlPlane> {
  const clock = systemClock()
  const connection = await connect({ kind: 'files', paths: [coordinates.adminKubeconfig] }, clock)
  const raw = createRaw(coordinates.adminKubeconfig, clock)
  afterAll(async () => {
    await connection.close()
    await raw.close()
  })
  return {
    ...coordinates,
    ...access,
    admin: createClient({
      connection,
      clock,
      observer: { responded: () => undefined, wrote: () => undefined },
      userAgent: 'test',
      fieldManager: FIELD_MANAGER,
      mayWrite: () => undefined,
    }),
    raw: raw.call,
    operatorKubeconfig: () =>
      access.serviceAccountKubeconfig(OPERATOR_ACCOUNT.namespace, OPERATOR_ACCOUNT.name),
  }
}
