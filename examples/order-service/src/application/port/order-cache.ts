/** Answers that were read before. A cache that fails is a cache without answers: no method rejects. */
export interface OrderCache {
  /**
   * Returns the stored answer, or loads it. `scope` names whose view it is: `admin`, or `user:` and a subject.
   * An answer that was loaded before a change and arrives after it is not stored.
   */
  read<T>(scope: string, name: string, load: () => Promise<T>): Promise<T>
  /** Forgets all answers of the owner and of administrators. */
  evict(ownerSubject: string): Promise<void>
}
