import { call } from '../../api/client.ts'

/** The list that a dead letter was opened from. */
export interface LetterList {
  readonly group: string
  readonly binding?: string | undefined
  readonly since?: string | undefined
}

/** Further ones are found from the list. */
const maxSearched = 500

/** Returns the next dead letter of a group, or the one before. @param step - 1 is older */
export async function neighborOf(id: string, list: LetterList, step: 1 | -1): Promise<string | undefined> {
  const { items } = await call('listDeadLetters', { query: { ...list, limit: maxSearched } })
  const at = items.findIndex((one) => one.id === id)
  return at === -1 ? undefined : items[at + step]?.id
}
