"""Shows that Linux may report a sync as done although it was not, when ext4 is shut down at that instant.

A plain program, without SQLite and without the service, appends to a file and syncs it. The file system is shut down
meanwhile, as after a fatal error, and mounted again. What fdatasync had reported as done must be there. Needs root, a
loop device and ext4. Writes to the disk beside it make the race likely:

    python3 proof/failure/sync-race.py DIRECTORY [ROUNDS]
"""
import fcntl
import os
import struct
import subprocess
import sys
import threading
import time

EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
FRAME = 4120


def append(file, synced):
    try:
        while True:
            os.pwrite(file, b"x" * FRAME, synced[0])
            os.fdatasync(file)
            synced[0] += FRAME
    except OSError:
        pass


def is_lost(image, mounted, pause_s):
    with open(image, "wb") as disk:
        disk.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    file = os.open(f"{mounted}/file", os.O_CREAT | os.O_RDWR, 0o600)
    synced = [0]
    writer = threading.Thread(target=append, args=(file, synced))
    writer.start()
    time.sleep(pause_s)
    fcntl.ioctl(file, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    writer.join()
    os.close(file)
    subprocess.run(["umount", mounted], check=True)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    size = os.stat(f"{mounted}/file").st_size
    subprocess.run(["umount", mounted], check=True)
    return size < synced[0]


def main(directory, rounds=60):
    image, mounted = f"{directory}/ext4", f"{directory}/mounted"
    os.makedirs(mounted, exist_ok=True)
    lost = sum(is_lost(image, mounted, 0.3 + 0.013 * (n % 17)) for n in range(int(rounds)))
    print(f"synced and lost in {lost} of {rounds} rounds")


main(*sys.argv[1:])
