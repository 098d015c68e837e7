import type { ExceptionOptions, IdempotencyStore, Inbox } from '@waybill/core'
import type { ErrorClass } from '@waybill/core/internal'
import type { Binding, DeduplicationKey } from './binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from './dead-letter-types.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import type { RecordFilter } from './handler-types.ts'

/** The code behind the names of a configuration. */
export interface ConfigCode {
  /** For `handler`. A binding that names none means the one called as itself. */
  readonly handlers: HandlerRegistry | Readonly<Record<string, Binding['handler']>>
  /** For `dlt.alertHandler`. Without a name there: the one called as the binding, else the one called `default`. */
  readonly alertHandlers?: Readonly<Record<string, DeadLetterAlertHandler>>
  /** For `dlt.recordHandler`. Without a name there: the one called as the binding, else the one called `default`. */
  readonly deadLetterHandlers?: Readonly<Record<string, DeadLetterRecordHandler>>
  /** For `filter`. */
  readonly filters?: Readonly<Record<string, RecordFilter>>
  /** For `retry.classifier`. */
  readonly classifiers?: Readonly<Record<string, NonNullable<ExceptionOptions['classifier']>>>
  /** For `deduplicate.store`. */
  readonly idempotencyStores?: Readonly<Record<string, IdempotencyStore>>
  /**
   * For `deduplicate.inbox`. `deduplicate: IN_TRANSACTION` means the one called as the binding, else the one called
   * `default`.
   */
  readonly inboxes?: Readonly<Record<string, Inbox<unknown>>>
  /** For `deduplicate.key`. */
  readonly deduplicationKeys?: Readonly<Record<string, DeduplicationKey>>
  /**
   * For errors in `retry`: classes and predicates by the names that the configuration calls them. A name that is not
   * here means errors with this `name` or `code`, or of a class with this name.
   */
  readonly errors?: Readonly<Record<string, ErrorClass | ((error: unknown) => boolean)>>
  /** The clusters of the connector: with them a name that is none of theirs is told with everything else. */
  readonly clusters?: Readonly<Record<string, unknown>>
}
