# The arguments come as JSON on stdin.
case "$(cat)" in
*Oslo*) echo "High tide in Oslo is at 14:20." ;;
*) echo "High tide in Bergen is at 09:40." ;;
esac
