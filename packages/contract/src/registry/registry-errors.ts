/** The errors of schema registries. */

import { type ErrorContext, UnavailableError, WaybillError } from '@waybill/core'

/**
 * The registry gave no answer, or none that can be read. It says nothing about the schema: a record waits and is decoded
 * later, an event stays in the outbox without an attempt spent.
 */
export class RegistryUnavailableError extends UnavailableError {
  static override readonly code: string = 'WAYBILL_REGISTRY_UNAVAILABLE'
}

/** The registry answered that it has no such schema, subject or version. */
export class SchemaNotFoundError extends WaybillError {
  static override readonly code = 'WAYBILL_SCHEMA_NOT_FOUND'
}

/** The registry refused to register a schema: it cannot be read, or it is incompatible with earlier versions. */
export class SchemaRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_SCHEMA_REFUSED'

  constructor(what: string, context: ErrorContext = {}) {
    super(what, {
      impact: 'Nothing was registered.',
      hint: 'Correct the schema, or change the compatibility level of the subject.',
      ...context,
    })
  }
}
