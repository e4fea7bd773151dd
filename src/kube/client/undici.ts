// The parts of undici that the program uses. Its index loads fetch, WebSocket, caches and mocks too: 12 MB.
import type { Socket } from 'node:net'
import type { Dispatcher, Pool as PoolType, buildConnector as BuildConnector } from 'undici'
// @ts-expect-error -- undici has types for its index only
import api from 'undici/lib/api/index.js'
// @ts-expect-error -- as above
import connectorOfUndici from 'undici/lib/core/connect.js'
// @ts-expect-error -- as above
import DispatcherOfUndici from 'undici/lib/dispatcher/dispatcher.js'
// @ts-expect-error -- as above
import PoolOfUndici from 'undici/lib/dispatcher/pool.js'

// As in undici's index: `request` and its like are methods of every dispatcher.
Object.assign((DispatcherOfUndici as typeof Dispatcher).prototype, api)

/** undici's connections to one origin. */
export const Pool = PoolOfUndici as typeof PoolType

/** Opens a connection, as undici does. Returns its socket at once, which the types of undici leave out. */
export type Connector = (...asked: Parameters<BuildConnector.connector>) => Socket

/** Makes the function by which undici opens a connection. */
export const buildConnector = connectorOfUndici as (
  options: BuildConnector.BuildOptions,
) => Connector
