// Pods of a test node as Docker containers, restricted as their specs say.
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { LaunchPod } from '../support/pod-run.ts'
import { launch } from './docker-containers.ts'
import { type ApiServerAddress, containerOf, writeVolumes } from './pod-container.ts'

/** Runs pods in Docker; they reach the API server by this address. */
export const inContainers =
  (address: ApiServerAddress): LaunchPod =>
  async (pod, { call, folder }) => {
    const folders = await writeVolumes(call, pod, await mkdtemp(join(folder, 'pod-')))
    const running = await launch(containerOf(pod, folders, address))
    const { container } = running
    return {
      id: `docker://${container.getId()}`,
      podIP: container.getIpAddress('bridge'),
      address: (port) => `${container.getHost()}:${container.getMappedPort(port)}`,
      log: running.log,
      exited: running.exited,
      end: (withinMs) => running.end(withinMs),
    }
  }
