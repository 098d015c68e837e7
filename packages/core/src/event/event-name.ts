import { ArgumentError } from '../errors.ts'

/**
 * A type of event that is more than a text: an entry of a const object, or any object with a name. The name is written
 * into rows and records, so it is given explicitly.
 */
export interface EventType {
  readonly name: string
}

/** A kind of thing that events are about, as an object with a name. */
export interface AggregateType {
  readonly name: string
}

/** The aggregate type of events that name none. */
export const globalAggregateType = '__GLOBAL__'

/** The name of a type given as text or as an object with a name. */
export function nameOf(type: string | EventType | AggregateType, field: string): string {
  // A class has a name too, but one that a refactoring or a minifier changes under the events already written.
  if (typeof type === 'function')
    throw new ArgumentError(`${field} cannot be a class or function.`, {
      hint: 'Give its name as text, or as an object with an explicit name.',
    })
  return typeof type === 'object' && type !== null ? type.name : type
}
