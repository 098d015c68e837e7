/**
 * Quarantined keys: which there are, and how they are released.
 *
 *     QUARANTINED ──release: every version from `expected` to the last one seen was found──▶ released with its new row
 *          │  └───── a version is missing ──▶ stays
 *          └──accept: an operator gives the row──▶ released with that row
 *
 * A release locks the key and its row: a live event of the key waits for it, and is applied after it.
 */

import {
  type AdministrationOptions,
  ArgumentError,
  type OperatorIdentity,
  type Runtime,
  type Schemas,
  StateError,
} from '@waybill/core'
import {
  AuditedOperations,
  administrationRule,
  type ProjectionStore,
  type ProjectionTransaction,
  type QuarantinedKey,
  runtimeRule,
  type StoredRow,
} from '@waybill/core/internal'
import { hasMethods, instance, integer, optional, type Resolved, resolveOptions, text } from '@waybill/core/option'
import type { Projection } from '../definition/projection.ts'
import type { ProjectionOperation } from '../definition/projection-operation.ts'
import { checkRows, checkState } from '../fold/check-state.ts'
import { absentRow } from '../fold/fold-batch.ts'
import { storableState } from '../fold/storable-state.ts'
import { type KnownBuild, openLive } from '../projector/live-build.ts'
import { collectVersions, type FoundVersions } from './collect-versions.ts'
import type { DeadEvent } from './dead-events.ts'
import { missingVersions, releasedRow } from './released-row.ts'

/** Options of {@link createQuarantine}. */
export interface QuarantineOptions {
  /** The store of the projector. */
  readonly store: ProjectionStore
  /**
   * Permissions and audit log of operators.
   * @defaultValue only the program itself, `applicationOperator()`; lines on standard error, whatever the log level
   */
  readonly administration?: AdministrationOptions<ProjectionOperation> | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** A page of quarantined keys. */
export interface QuarantinePage {
  /** The last key of the page before. @defaultValue the first page */
  readonly after?: string | undefined
  /** @defaultValue 100 */
  readonly limit?: number | undefined
}

/** The effect that a release would have. */
export interface ReleasePreview {
  readonly key: string
  /** The versions that were found, of those that the row needs. */
  readonly found: readonly number[]
  /** The versions that are missing up to the last one seen. */
  readonly missing: readonly number[]
  /** Whether a release would succeed. */
  readonly isReady: boolean
}

/**
 * Lists and releases the quarantined keys of the live table of a projection. Each call rejects with OperationForbiddenError
 * if the operator lacks the permission, and with AuditUnwritableError if its request cannot be written to the audit log.
 */
export interface ProjectionQuarantine<State> {
  list(page: QuarantinePage, operator: OperatorIdentity): Promise<readonly QuarantinedKey[]>
  /** Returns the effect that a release would have. Changes nothing. */
  preview(key: string, events: AsyncIterable<DeadEvent>, operator: OperatorIdentity): Promise<ReleasePreview>
  /**
   * Applies the missing events of a key in the order of their versions, whatever their order in `events`, and releases it.
   * Events of other keys and repeats are passed over. Dead letters are an iterable of events: see {@link deadEvents}.
   *
   * @returns the version of its row
   * @throws StateError if the key is not quarantined or a version is missing, FoldFailedError if a fold still throws
   */
  release(key: string, events: AsyncIterable<DeadEvent>, operator: OperatorIdentity): Promise<number>
  /**
   * Releases a key whose events are lost permanently: its row becomes the given one.
   *
   * @param state - undefined deletes the row
   * @throws StateError if the key is not quarantined, or the version is lower than that of its row
   */
  accept(
    key: string,
    row: { readonly version: number; readonly state: State | undefined; readonly reason: string },
    operator: OperatorIdentity,
  ): Promise<void>
}

/**
 * Creates the quarantine of a projection.
 *
 * @throws OptionsError with all violations, ArgumentError for a projection by POSITION: it quarantines no key
 */
export function createQuarantine<S extends Schemas, State>(
  projection: Projection<S, State>,
  options: QuarantineOptions,
): ProjectionQuarantine<State> {
  const { store, administration, runtime } = resolveOptions('createQuarantine', optionRules, options)
  if (projection.versions === 'POSITION')
    throw new ArgumentError(`createQuarantine: projection ${projection.name} has versions: 'POSITION'`, {
      impact: 'It quarantines no key: without versions, a missing event is not noticed and later ones are applied.',
      hint: 'Replay its dead letters to its binding.',
    })
  const inner = new StoreQuarantine<State>(projection as unknown as Projection<Schemas, unknown>, store)
  // A key belongs to all nodes.
  const audited = new AuditedOperations<ProjectionOperation>(runtime, 'FLEET', administration)
  const asked = (operation: ProjectionOperation, request: object, operator: OperatorIdentity) => {
    return { operation, target: projection.name, request, operator }
  }
  return {
    async list(given, operator) {
      const page = resolveOptions('list()', pageRules, given)
      const reading = asked('READ_QUARANTINE', page, operator)
      return audited.run(
        reading,
        () => inner.list(page),
        (keys) => ({ read: keys.length }),
      )
    },
    preview: (key, events, operator) =>
      audited.run(
        asked('READ_QUARANTINE', { key }, operator),
        () => inner.preview(key, events),
        ({ missing, isReady }) => ({ missing: missing.length, isReady }),
      ),
    release: (key, events, operator) =>
      audited.run(
        asked('RELEASE_KEY', { key }, operator),
        () => inner.release(key, events),
        (version) => ({ version }),
      ),
    async accept(key, row, operator) {
      const { version, reason } = row
      // Without the state: it may hold what does not belong into a log.
      const request = { key, version, reason, isDeleted: row.state === undefined }
      await audited.run(
        asked('ACCEPT_ROW', request, operator),
        () => inner.accept(key, row),
        (before) => ({ before }),
      )
    },
  }
}

const optionRules = {
  store: instance<ProjectionStore>('a store of projections', (value) => hasMethods(value, 'transaction', 'read')),
  administration: administrationRule,
  runtime: runtimeRule,
}

const pageRules = {
  after: optional(text()),
  limit: integer({ default: 100, min: 1, max: 10_000, because: 'a page is read by people' }),
}

/** The quarantine in a store. Its caller asks for permissions and writes the audit log. */
class StoreQuarantine<State> {
  readonly #projection: Projection<Schemas, unknown>
  readonly #store: ProjectionStore

  constructor(projection: Projection<Schemas, unknown>, store: ProjectionStore) {
    this.#projection = projection
    this.#store = store
  }

  async list({ after, limit }: Resolved<typeof pageRules>): Promise<readonly QuarantinedKey[]> {
    const live = await this.#live()
    return this.#store.quarantined(live.build, { after: after ?? null, limit })
  }

  async preview(key: string, events: AsyncIterable<DeadEvent>): Promise<ReleasePreview> {
    const live = await this.#live()
    const { entry, row } = await this.#find(live, key)
    const found = await this.#collect(row, events)
    const missing = missingVersions(row.version, entry.last, found)
    return { key, found: found.map(({ version }) => version), missing, isReady: missing.length === 0 }
  }

  async release(key: string, events: AsyncIterable<DeadEvent>): Promise<number> {
    const live = await this.#live()
    const { row } = await this.#find(live, key)
    // Read before the transaction: a dead letter topic may be long.
    const found = await this.#collect(row, events)
    return this.#store.transaction(async (tx) => {
      const { entry, stored } = await this.#lock(tx, live, key)
      const released = releasedRow(this.#projection, stored, entry, found)
      await tx.restore(live.table, released)
      return released.version
    })
  }

  /** Returns the version of the row before. */
  async accept(
    key: string,
    { version, state }: { readonly version: number; readonly state: State | undefined },
  ): Promise<number> {
    const live = await this.#live()
    const row: StoredRow = { key, version, state: this.#checked(state), isQuarantined: false }
    return this.#store.transaction(async (tx) => {
      const { stored } = await this.#lock(tx, live, key)
      if (!Number.isSafeInteger(version) || version < stored.version)
        throw new StateError(
          `${JSON.stringify(key)} is at version ${stored.version}: version ${version} is not accepted`,
          {
            impact: 'Nothing was changed.',
          },
        )
      await tx.restore(live.table, row)
      return stored.version
    })
  }

  /** Reads a quarantined key and its row: before the dead letters, since a later event extends the entry. */
  async #find(live: KnownBuild, key: string): Promise<{ readonly entry: QuarantinedKey; readonly row: StoredRow }> {
    const entry = await this.#store.transaction((tx) => tx.lockQuarantined(live.build, key))
    if (entry === undefined) throw this.#notQuarantined(key)
    const [row = absentRow(key)] = await this.#store.read(live.table, [key])
    return { entry, row }
  }

  async #lock(
    tx: ProjectionTransaction,
    live: KnownBuild,
    key: string,
  ): Promise<{ readonly entry: QuarantinedKey; readonly stored: StoredRow }> {
    const builds = await tx.lock(live.build.projection, 'SHARED')
    const isLive = builds.some(({ number, state }) => number === live.build.number && state === 'LIVE')
    // A row before its entry, as writers lock them.
    const [stored = absentRow(key)] = checkRows(this.#projection, isLive ? await tx.readLocked(live.table, [key]) : [])
    const entry = await tx.lockQuarantined(live.build, key)
    if (entry === undefined || !isLive) throw this.#notQuarantined(key)
    return { entry, stored }
  }

  async #collect({ key, version }: StoredRow, events: AsyncIterable<DeadEvent>): Promise<FoundVersions> {
    const found = await collectVersions(this.#projection, new Map([[key, version]]), events)
    return found.get(key) ?? []
  }

  #checked(state: State | undefined): StoredRow['state'] {
    if (state === undefined) return undefined
    const stored = storableState(this.#projection.columns, state as NonNullable<StoredRow['state']>)
    checkState(this.#projection, stored)
    return stored
  }

  #live(): Promise<KnownBuild> {
    return openLive(this.#store, [this.#projection])
  }

  #notQuarantined(key: string): StateError {
    return new StateError(`${JSON.stringify(key)} is not quarantined in projection ${this.#projection.name}`, {
      impact: 'Nothing was changed.',
    })
  }
}
