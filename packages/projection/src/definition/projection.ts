import type { EventCatalog, PayloadOf, ReceivedEvent, Schemas, StandardSchema } from '@waybill/core'
import type { ColumnDefinition, ColumnType } from '@waybill/core/internal'

/** An event as a fold receives it. Its key is the key of the row. */
export interface ProjectedEvent<N, P> extends ReceivedEvent<N, P> {
  readonly key: string
}

/**
 * Functions that compute the next state of a row, by event name. Other events of the catalog only advance the version.
 *
 * They are pure: the same state and event always give the same state. This is what allows repeats, batches, rebuilds and
 * two consumers at once. A fold that returns undefined deletes the row.
 */
export type ProjectionFold<S extends Schemas, State> = {
  readonly [N in keyof S & string]?: (
    state: State | undefined,
    event: ProjectedEvent<N, PayloadOf<S, N>>,
  ) => State | undefined
}

/** The columns of a state: each property has one. */
export type ProjectionColumns<State> = {
  readonly [K in keyof State & string]: ColumnType | ColumnDefinition
}

/** The declaration of a projection, without its fold. */
export interface ProjectionDefinition<S extends Schemas, State> {
  /** The name of the view that readers use: letters, digits and underscores. */
  readonly name: string
  /**
   * Raise it whenever the fold, the state or the columns change. A new revision has a table of its own, which a rebuild
   * fills while the table of the former revision is still read.
   *
   * @defaultValue 1
   */
  readonly revision?: number | undefined
  readonly events: EventCatalog<S>
  /** The state of a row, as a Standard Schema: it gives the fold its type, and each row that is read is checked. */
  readonly state: StandardSchema<unknown, State>
  readonly columns: ProjectionColumns<State>
  /** The column of the key. @defaultValue `id` */
  readonly keyColumn?: string | undefined
  /**
   * How a repeat is recognized. AGGREGATE: by the version of the event's aggregate, which rises by one with each event, so
   * gaps are found too. POSITION: by the record's offset, for events without versions; gaps are not found.
   *
   * @defaultValue AGGREGATE
   */
  readonly versions?: 'AGGREGATE' | 'POSITION' | undefined
}

/** A read model and how events change it. Made by {@link defineProjection}; never changes. */
export interface Projection<S extends Schemas, State> {
  readonly name: string
  readonly revision: number
  readonly events: EventCatalog<S>
  readonly state: StandardSchema<unknown, State>
  readonly columns: Readonly<Record<string, Required<ColumnDefinition>>>
  readonly keyColumn: string
  readonly versions: 'AGGREGATE' | 'POSITION'
  readonly fold: ProjectionFold<S, State>
  /**
   * A digest of the name, the columns and the names of the events that have a function. It does not cover their code. An
   * event without one may join the catalog of a table that is live: it only raises the version.
   */
  readonly fingerprint: string
}

/** Any projection, whatever its events and its state are. */
export interface AnyProjection {
  readonly name: string
  readonly revision: number
  readonly fingerprint: string
  readonly fold: object
}
