import type { ExceptionOptions, IdempotencyStore, Inbox, StandardSchema } from '@waybill/core'
import type { ErrorClass } from '@waybill/core/internal'
import type { Binding, DeduplicationKey, StartOffsets } from './binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from './dead-letter-types.ts'
import type { ValueDecoder } from './decode-option.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import type { RecordFilter } from './handler-types.ts'

/** The code that a configuration refers to by name. */
export interface ConfigCode {
  /** Code for `handler`. A binding without one uses the handler with its own name. */
  readonly handlers: HandlerRegistry | Readonly<Record<string, Binding['handler']>>
  /** Code for `decode`, beside the words `json` and `text`. */
  readonly decoders?: Readonly<Record<string, ValueDecoder | StandardSchema>>
  /** Code for `dlt.alertHandler`. If omitted there, the one with the binding's name applies, else `default`. */
  readonly alertHandlers?: Readonly<Record<string, DeadLetterAlertHandler>>
  /** Code for `dlt.recordHandler`. If omitted there, the one with the binding's name applies, else `default`. */
  readonly deadLetterHandlers?: Readonly<Record<string, DeadLetterRecordHandler>>
  /** Code for `redactErrors`. */
  readonly redactors?: Readonly<Record<string, (text: string) => string>>
  /** Code for `filter`. */
  readonly filters?: Readonly<Record<string, RecordFilter>>
  /** Code for `startOffsets`. */
  readonly startOffsets?: Readonly<Record<string, StartOffsets>>
  /** Code for `retry.classifier`. */
  readonly classifiers?: Readonly<Record<string, NonNullable<ExceptionOptions['classifier']>>>
  /** Code for `deduplicate.store`. */
  readonly idempotencyStores?: Readonly<Record<string, IdempotencyStore>>
  /**
   * Code for `deduplicate.inbox`. `deduplicate: IN_TRANSACTION` uses the one with the binding's name, else `default`.
   */
  readonly inboxes?: Readonly<Record<string, Inbox<unknown>>>
  /** Code for `deduplicate.key`. */
  readonly deduplicationKeys?: Readonly<Record<string, DeduplicationKey>>
  /**
   * Error classes and predicates for the errors in `retry`, by name. Any other name matches errors with this `name` or
   * `code`, or of a class with this name.
   */
  readonly errors?: Readonly<Record<string, ErrorClass | ((error: unknown) => boolean)>>
  /** The clusters of the connector. If given, unknown cluster names are reported with the other violations. */
  readonly clusters?: Readonly<Record<string, unknown>>
}
