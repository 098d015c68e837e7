/** Reads the responses of Confluent's API. Pure: no IO. */

import { describeThrown } from '@waybill/core'
import { RegistryUnavailableError } from './registry-errors.ts'
import type { RegistryVerdict, SchemaDocument, SchemaReference, SchemaType, SubjectVersion } from './schema-registry.ts'

/** The most references of one schema. */
const maxReferences = 1_000

type Members = Readonly<Record<string, unknown>>

/** A response that was refused, as the registry describes it. */
export interface RegistryRefusal {
  /** Confluent's code, such as 40403; undefined where a proxy or another server answered. */
  readonly errorCode: number | undefined
  readonly message: string
}

/** Reads the body of a response that is not successful. */
export function readRefusal(body: string): RegistryRefusal {
  const { error_code: errorCode, message } = membersOf(parse(body) ?? {})
  return {
    errorCode: typeof errorCode === 'number' ? errorCode : undefined,
    message: (typeof message === 'string' ? message : body).trim().slice(0, 500),
  }
}

/** Reads `GET /schemas/ids/{id}`. @throws RegistryUnavailableError */
export function readSchema(request: string, body: string): SchemaDocument {
  return documentIn(request, membersIn(request, body))
}

/** Reads the id of a lookup or a registration. @throws RegistryUnavailableError */
export function readId(request: string, body: string): number {
  return integerIn(request, membersIn(request, body), 'id')
}

/** Reads a version of a subject. @throws RegistryUnavailableError */
export function readVersion(request: string, body: string): SubjectVersion {
  const members = membersIn(request, body)
  return {
    ...documentIn(request, members),
    subject: textIn(request, members, 'subject'),
    version: integerIn(request, members, 'version'),
    id: integerIn(request, members, 'id'),
  }
}

/** Reads the answer to a compatibility check. @throws RegistryUnavailableError */
export function readVerdict(request: string, body: string): RegistryVerdict {
  const { is_compatible: isCompatible, messages } = membersIn(request, body)
  if (typeof isCompatible !== 'boolean') throw unreadable(request, 'is_compatible is missing')
  const texts = Array.isArray(messages) ? messages.filter((message) => typeof message === 'string') : []
  return { isCompatible, messages: texts }
}

function documentIn(request: string, members: Members): SchemaDocument {
  const { schemaType = 'AVRO', references = [] } = members // Avro is the type of responses that name none.
  if (!isSchemaType(schemaType)) throw unreadable(request, 'schemaType is none of AVRO, PROTOBUF and JSON')
  if (!Array.isArray(references) || references.length > maxReferences)
    throw unreadable(request, `references is not a list of at most ${maxReferences}`)
  return {
    schemaType,
    schema: textIn(request, members, 'schema'),
    references: references.map((reference: unknown) => referenceIn(request, membersOf(reference))),
  }
}

function referenceIn(request: string, members: Members): SchemaReference {
  return {
    name: textIn(request, members, 'name'),
    subject: textIn(request, members, 'subject'),
    version: integerIn(request, members, 'version'),
  }
}

function isSchemaType(value: unknown): value is SchemaType {
  return value === 'AVRO' || value === 'PROTOBUF' || value === 'JSON'
}

function textIn(request: string, members: Members, name: string): string {
  const value = members[name]
  if (typeof value !== 'string') throw unreadable(request, `${name} is not a string`)
  return value
}

function integerIn(request: string, members: Members, name: string): number {
  const value = members[name]
  if (!Number.isSafeInteger(value)) throw unreadable(request, `${name} is not an integer`)
  return value as number
}

function membersIn(request: string, body: string): Members {
  const value = parse(body)
  if (value === undefined) throw unreadable(request, `the body is not JSON: ${describeThrown(body.slice(0, 100))}`)
  return membersOf(value)
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined // A page of a proxy, for one. The caller names the request.
  }
}

function unreadable(request: string, why: string): RegistryUnavailableError {
  return new RegistryUnavailableError(`${request} has a response that cannot be read: ${why}.`, {
    impact: 'The schema is not known; nothing was lost.',
    hint: "Check that the URL is the base of Confluent's API: for Apicurio it ends with /apis/ccompat/v7.",
  })
}
