/** The authenticated caller of a use case. */
export interface Caller {
  /** The subject of the token: the owner of what this caller creates. */
  readonly subject: string
  readonly isAdmin: boolean
}

/** Whether the order is the caller's own, or the caller is an administrator. */
export function mayChange(caller: Caller, { ownerSubject }: { readonly ownerSubject: string }): boolean {
  return caller.isAdmin || caller.subject === ownerSubject
}
